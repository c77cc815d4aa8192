from fsgym.dataset import Dataset, Scaling

__version__ = "0.1.0"
__all__ = ["Dataset", "Scaling"]
