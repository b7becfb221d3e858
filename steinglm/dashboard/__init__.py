"""The page's own parts: controls, charts and the chart that updates in place. Only this package knows Streamlit."""
