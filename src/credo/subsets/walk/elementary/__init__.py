"""Elementary functions of many numbers at a time, for compiled code.

What does not belong here: anything that knows of models.
"""

__all__: list[str] = []
