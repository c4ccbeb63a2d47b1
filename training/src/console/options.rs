//! Options that are declared once: [`options!`] makes of one declaration the field of a config, its
//! default, the option on the command line, and the help text with the default in it.

use std::path::PathBuf;

/// Declares a config and its options on the command line.
///
/// First come the config's fields that only a file or the program itself sets, then those that are
/// options as well: `field: Type = DEFAULT, as name: Type`, where the type of the option becomes
/// the field's by `Into`. Behind it may stand how the help names the default (else it shows the
/// value), and more for clap. Last, after `and`, options for fields inside of fields.
///
/// The options of a command line are all optional; `over` lays those that were given over a config.
macro_rules! options {
    (
        $(#[$config_meta:meta])*
        config $config:ident {
            $(
                $(#[doc = $own_doc:literal])+
                $(#[serde $own_serde:tt])?
                $own:ident: $own_type:ty = $own_default:expr;
            )*
        }
        $(#[$options_meta:meta])*
        options $options:ident {
            $(
                $(#[doc = $doc:literal])+
                $(#[serde $serde:tt])?
                $field:ident: $type:ty = $default:expr,
                as $name:ident: $arg:ty $(= $shown:literal)? $(, $key:ident = $value:expr)*;
            )*
        }
        $(and {
            $(
                $(#[doc = $inner_doc:literal])+
                $($path:ident).+, as $inner:ident: $inner_type:ty;
            )*
        })?
    ) => {
        $(#[$config_meta])*
        pub struct $config {
            $( $(#[doc = $own_doc])+ $(#[serde $own_serde])? pub $own: $own_type, )*
            $( $(#[doc = $doc])+ $(#[serde $serde])? pub $field: $type, )*
        }

        impl Default for $config {
            fn default() -> Self {
                Self { $( $own: $own_default, )* $( $field: $default, )* }
            }
        }

        $(#[$options_meta])*
        #[derive(Clone, Debug, Default, clap::Args)]
        pub struct $options {
            $(
                #[arg(
                    long,
                    help = $crate::console::options::help(
                        concat!($($doc),+),
                        &$config::default().$field,
                        &[$($shown)?],
                    )
                    $(, $key = $value)*
                )]
                $name: Option<$arg>,
            )*
            $($(
                #[arg(
                    long,
                    help = $crate::console::options::help(
                        concat!($($inner_doc),+),
                        &$config::default().$($path).+,
                        &[],
                    )
                )]
                $inner: Option<$inner_type>,
            )*)?
        }

        impl $options {
            /// The config with what these options say in place of its own.
            #[must_use]
            pub fn over(&self, mut config: $config) -> $config {
                $(
                    if let Some(value) = self.$name.clone() {
                        config.$field = value.into();
                    }
                )*
                $($(
                    if let Some(value) = self.$inner.clone() {
                        config.$($path).+ = value.into();
                    }
                )*)?
                config
            }
        }
    };
}

pub(crate) use options;

/// A value as a help text shows it.
pub(crate) trait Shown {
    /// The value as it would be written on the command line; `None` = there is nothing to show.
    fn shown(&self) -> Option<String>;
}

/// Shows values of these types as they display themselves.
macro_rules! shown_as_displayed {
    ($($type:ty),* $(,)?) => {
        $(impl $crate::console::options::Shown for $type {
            fn shown(&self) -> Option<String> {
                Some(self.to_string())
            }
        })*
    };
}

pub(crate) use shown_as_displayed;

shown_as_displayed!(u8, u16, u32, u64, usize, f32, f64, String);
shown_as_displayed!(tesla_nn::device::DeviceChoice, tesla_nn::model::Precision);

/// Shows values of these types by their name on the command line.
macro_rules! shown_as_value {
    ($($type:ty),* $(,)?) => {
        $(impl $crate::console::options::Shown for $type {
            fn shown(&self) -> Option<String> {
                clap::ValueEnum::to_possible_value(self).map(|value| value.get_name().to_owned())
            }
        })*
    };
}

pub(crate) use shown_as_value;

impl Shown for bool {
    fn shown(&self) -> Option<String> {
        self.then(|| "true".to_owned())
    }
}

impl Shown for PathBuf {
    fn shown(&self) -> Option<String> {
        Some(self.display().to_string())
    }
}

impl<T: Shown> Shown for Option<T> {
    fn shown(&self) -> Option<String> {
        self.as_ref().and_then(T::shown)
    }
}

/// The help text of an option with this documentation and default, which `name` may name instead.
pub(crate) fn help(doc: &str, default: &impl Shown, name: &[&str]) -> String {
    let text = doc.trim().trim_end_matches('.').to_owned();
    let default = name.first().map(|name| (*name).to_owned()).or_else(|| default.shown());
    match default.filter(|default| !default.is_empty()) {
        Some(default) => format!("{text} [default: {default}]"),
        None => text,
    }
}
