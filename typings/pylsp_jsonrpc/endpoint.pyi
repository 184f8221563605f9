from collections.abc import Callable, Mapping
from concurrent.futures import Future
from typing import Any

CANCEL_METHOD: str
JSONRPC_VERSION: str

class Endpoint:
    def __init__(
        self,
        dispatcher: Mapping[str, Callable[[Any], Any]],
        consumer: Callable[[dict[str, Any]], object],
        id_generator: Callable[[], int | str] = ...,
        max_workers: int = ...,
    ) -> None: ...
    def shutdown(self) -> None: ...
    def notify(self, method: str, params: Any = None) -> None: ...
    def request(self, method: str, params: Any = None) -> Future[Any]: ...
    def consume(self, message: Mapping[str, Any]) -> None: ...
