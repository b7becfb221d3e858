"""Every lesson in a real browser, one after the other: its chart with the mark, its answer, and the way back."""

import re
from typing import TYPE_CHECKING

from steinglm.lessons.reading import every
from tests.browser.test_accessibility import serious_violations
from tests.browser.visiting import GO, PATIENCE

if TYPE_CHECKING:
    from playwright.sync_api import Page


def test_each_lesson_opens_with_its_mark_and_hides_its_answer(page: "Page", app_url: str) -> None:
    lessons = list(every()[0].values())
    page.goto(f"{app_url}/?v=1&dataset=diabetes&depth=2")
    page.get_by_text("On Diabetes, 2 layers of tanh").wait_for(timeout=PATIENCE)
    page.evaluate(GO, "/lessons")  # as in `visiting`: a first request of /lessons would report missing files
    page.get_by_role("button", name=re.compile(re.escape(lessons[0].title))).click()
    for number, lesson in enumerate(lessons):
        page.get_by_role("heading", name=lesson.title).wait_for(timeout=PATIENCE)
        label = page.locator(".plot .shapelayer text, .plot .shape-label text")
        label.get_by_text(lesson.look.label).first.wait_for(timeout=PATIENCE)
        assert not page.get_by_text(lesson.answer[:40]).is_visible()
        assert f"lesson={lesson.name}" in page.url
        if number + 1 < len(lessons):
            page.get_by_role("button", name="Next").click()
    page.get_by_text("Answer", exact=True).click()
    page.get_by_text(lessons[-1].answer[:40]).wait_for(timeout=PATIENCE)
    assert not serious_violations(page)
    page.go_back()
    page.get_by_role("heading", name=lessons[-2].title).wait_for(timeout=PATIENCE)


def test_a_lesson_by_keyboard_on_to_compare_and_to_the_method(page: "Page", app_url: str) -> None:
    page.goto(f"{app_url}/?v=1&dataset=diabetes&depth=2")
    page.get_by_text("On Diabetes, 2 layers of tanh").wait_for(timeout=PATIENCE)
    page.evaluate(GO, "/lessons?lesson=odd-links")
    first = page.get_by_role("radio", name="second order", exact=True)
    first.wait_for(timeout=PATIENCE)
    other = page.get_by_role("radio", name="first and second")
    other.focus()
    page.keyboard.press("Enter")
    page.wait_for_url(re.compile("odd-links-score="), timeout=PATIENCE)
    page.get_by_role("button", name="Open in Compare").focus()
    page.keyboard.press("Enter")
    page.get_by_text("On a multi-index model, 2 layers of tanh").wait_for(timeout=PATIENCE)
    assert "score=mixed" in page.url and "width=1" in page.url
    page.get_by_role("link", name="Method").click()
    page.get_by_role("heading", name="5 · The output layer").wait_for(timeout=PATIENCE)
    page.locator(".plot .xaxislayer-above").nth(1).wait_for(state="attached", timeout=PATIENCE)
    assert not serious_violations(page)
