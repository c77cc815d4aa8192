"""The picture of Table 1."""

from fsgym_studies.common.render import draw_picture


def depth_picture(settings):
    def draw(figure):
        ax = figure.add_subplot()
        ax.plot(settings["setting"] + 1, settings["accuracy"], marker="o")
        ax.set(xlabel="levels of splits", ylabel="accuracy")

    return draw_picture("depth", "Accuracy by depth", "Means over the splits.", draw)
