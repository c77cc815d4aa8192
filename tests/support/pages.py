"""Pages of HTML, read."""

from html.parser import HTMLParser


class Markup(HTMLParser):
    """All tags and attributes of a page, and its text."""

    def __init__(self):
        super().__init__()
        self.tags, self.links, self.text = [], [], []

    def handle_starttag(self, tag, attrs):
        self.tags.append(tag)
        self.links += [value for name, value in attrs if name in ("src", "href")]

    def handle_data(self, data):
        self.text.append(data)


def read(path):
    markup = Markup()
    markup.feed(path.read_text(encoding="utf-8"))
    return markup, " ".join(" ".join(markup.text).split())
