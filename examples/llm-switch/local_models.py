"""What models.yaml says: the models of this machine, and the command that serves each."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated, Optional

import msgspec

Port = Annotated[int, msgspec.Meta(ge=1, le=65535)]
Positive = Annotated[int, msgspec.Meta(ge=1)]
Seconds = Annotated[float, msgspec.Meta(ge=1, le=590)]


class ModelsError(Exception):
    """Why the models cannot be read, for the user."""


class Sampling(msgspec.Struct, forbid_unknown_fields=True):
    """How the server chooses the next token; what is left out is the server's choice."""

    temp: Optional[float] = None
    top_k: Optional[int] = None
    top_p: Optional[float] = None
    min_p: Optional[float] = None
    repeat_penalty: Optional[float] = None


class LocalModel(msgspec.Struct, forbid_unknown_fields=True):
    """One model.

    Attributes:
        file: the model's file; a relative path begins at the folder of models.yaml.
        port: where its server listens, on this machine alone.
        context: tokens of the context.
        gpu_layers: layers that the GPU holds.
        sampling: see there.
        binary: another server than that of the whole file.
        options: more words of the command line, as they are.
        wait_s: how long the server may take to come up.
    """

    file: str
    port: Port = 8080
    context: Optional[Positive] = None
    gpu_layers: Optional[int] = None
    sampling: Sampling = msgspec.field(default_factory=Sampling)
    binary: Optional[str] = None
    options: list[str] = []
    wait_s: Seconds = 120.0


class _File(msgspec.Struct, forbid_unknown_fields=True):
    models: Annotated[dict[str, LocalModel], msgspec.Meta(min_length=1)]
    binary: str = "llama-server"


class Models:
    """The models of one models.yaml.

    Raises:
        ModelsError: the file is not there, or something in it is wrong.
    """

    def __init__(self, file: str) -> None:
        path = Path(file).expanduser()
        try:
            self._said = msgspec.yaml.decode(path.read_bytes(), type=_File)
        except ImportError:
            raise ModelsError("PyYAML is not installed: pip install pyyaml") from None
        except OSError as exc:
            raise ModelsError(f"{path} cannot be read: {exc.strerror}") from None
        except (msgspec.DecodeError, RecursionError) as exc:
            raise ModelsError(f"{path}: {exc}") from None
        self._folder = path.parent

    @property
    def names(self) -> list[str]:
        return list(self._said.models)

    def __contains__(self, name: object) -> bool:
        return name in self._said.models

    def __getitem__(self, name: str) -> LocalModel:
        return self._said.models[name]

    def command(self, name: str) -> list[str]:
        """The command that serves a model, with the words of llama.cpp's server."""
        model = self[name]
        binary = model.binary or self._said.binary
        # a name without a folder is looked for on PATH
        words = [self._path(binary) if "/" in binary else binary, "-m", self._path(model.file)]
        words += ["--host", "127.0.0.1", "--port", str(model.port)]
        if model.context is not None:
            words += ["-c", str(model.context)]
        if model.gpu_layers is not None:
            words += ["-ngl", str(model.gpu_layers)]
        for option, value in msgspec.structs.asdict(model.sampling).items():
            if value is not None:
                words += ["--" + option.replace("_", "-"), str(value)]
        return words + model.options

    def _path(self, text: str) -> str:
        return str(self._folder / Path(text).expanduser())
