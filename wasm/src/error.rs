use turnback_core::{GateJsonError, IdError, InvalidPrefix, UnknownStatus};
use wasm_bindgen::prelude::*;

#[wasm_bindgen]
extern "C" {
    /// JavaScript's `Error`.
    #[wasm_bindgen(js_name = Error)]
    pub(crate) type JsException;

    #[wasm_bindgen(constructor, js_class = "Error")]
    fn new(message: &str) -> JsException;

    #[wasm_bindgen(method, setter)]
    fn set_code(this: &JsException, code: &str);
}

/// A typed error of `core`, as the exception that JavaScript sees: its sentence and its stable code.
pub(crate) struct Refused {
    message: String,
    code: &'static str,
}

impl Refused {
    /// An argument that cannot be used.
    pub(crate) fn argument(message: String) -> Self {
        Self { message, code: "INVALID_ARGUMENT" }
    }
}

impl From<Refused> for JsValue {
    fn from(refused: Refused) -> Self {
        let exception = JsException::new(&refused.message);
        exception.set_code(refused.code);
        exception.into()
    }
}

macro_rules! refused_from {
    ($($error:ty),*) => {$(
        impl From<$error> for Refused {
            fn from(error: $error) -> Self {
                Self { message: error.to_string(), code: error.code() }
            }
        }
    )*};
}

refused_from!(GateJsonError, IdError, InvalidPrefix, UnknownStatus);
