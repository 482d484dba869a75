"""The exercises, a file a topic; each adds its own to `EXERCISES` when it is read."""

import importlib
import pkgutil

for _topic in pkgutil.iter_modules(__path__):
    importlib.import_module(f"{__name__}.{_topic.name}")
