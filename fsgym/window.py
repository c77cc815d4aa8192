"""A window on the screen, by pygame, which the extra ``render`` installs."""

from __future__ import annotations

import os
from typing import Any

import numpy as np
from numpy.typing import NDArray

from fsgym.support.extras import require


class Window:
    """A window that shows one picture after the other; it opens with the first one.

    Parameters
    ----------
    title : str
    fps : float
        Pictures per second at most: ``show`` waits until the last one was visible for 1 / fps seconds.

    Raises
    ------
    ImportError
        If pygame is not installed.
    """

    def __init__(self, title: str, fps: float) -> None:
        require("render", 'render_mode="human"')
        self.title, self.fps = title, fps
        self._screen: Any = None
        self._clock: Any = None

    def __reduce__(self) -> tuple[Any, ...]:
        return Window, (self.title, self.fps)  # a copy opens a window of its own

    def show(self, picture: NDArray[np.uint8]) -> None:
        """Show a picture, uint8 (height, width, 3)."""
        os.environ.setdefault("PYGAME_HIDE_SUPPORT_PROMPT", "1")  # it would print a greeting
        import pygame

        height, width = picture.shape[:2]
        if self._screen is None:
            pygame.display.init()
            pygame.display.set_caption(self.title)
            self._screen = pygame.display.set_mode((width, height))
            self._clock = pygame.time.Clock()
        self._screen.blit(pygame.surfarray.make_surface(picture.swapaxes(0, 1)), (0, 0))
        pygame.event.pump()
        pygame.display.flip()
        self._clock.tick(self.fps)

    def close(self) -> None:
        """Close the window, if it is open."""
        if self._screen is not None:
            import pygame

            pygame.display.quit()
            self._screen = self._clock = None
