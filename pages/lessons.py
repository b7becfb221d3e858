"""The page "Lessons": presets with a question each, for a class or for oneself."""

from steinglm.dashboard import lessonpage, presentation
from steinglm.dashboard.guard import guarded
from steinglm.link import View

with guarded():
    presentation.show(View())
    lesson, lessons = lessonpage.chosen()
    if lesson is None:
        lessonpage.overview(lessons)
    else:
        lessonpage.show(lesson, lessons)
