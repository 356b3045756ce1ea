//! The case's `bridge_args` as [`Settings`], for the memory player.

use mcp_uplift::bridge::{ServerEra, Settings};

use super::case::Case;

pub(crate) fn settings(case: &Case) -> Result<Settings, String> {
    let mut settings = Settings {
        command_name: "fake".to_owned(),
        ..Settings::default()
    };
    let limits = &mut settings.limits;
    let mut args = case.bridge_args.iter();
    while let Some(flag) = args.next() {
        if flag == "--hold-lane" {
            settings.hold_lane = true;
            continue;
        }
        let value = args.next().ok_or_else(|| format!("{flag} has no value"))?;
        let number = || {
            value
                .parse::<u64>()
                .map_err(|e| format!("{flag} {value}: {e}"))
        };
        let size = || {
            value
                .parse::<usize>()
                .map_err(|e| format!("{flag} {value}: {e}"))
        };
        match flag.as_str() {
            "--max-line-bytes" => limits.line_bytes = size()?,
            "--max-buffer-bytes" => limits.buffer_bytes = size()?,
            "--max-in-flight" => limits.in_flight = size()?,
            "--max-subscriptions" => limits.subscriptions = size()?,
            "--max-subscription-uris" => limits.subscription_uris = size()?,
            "--mrtr-ttl-ms" => limits.mrtr_ttl_ms = number()?,
            "--request-timeout-ms" => limits.request_timeout_ms = number()?,
            "--max-request-ms" => limits.request_max_ms = number()?,
            "--initialize-timeout-ms" => limits.initialize_timeout_ms = number()?,
            "--shutdown-grace-ms" => limits.shutdown_grace_ms = number()?,
            "--cache-ttl-ms" => limits.cache_ttl_ms = number()?,
            "--parallel" => limits.parallel = size()?,
            "--root" => settings
                .roots
                .push(value.replace("$WORK", &format!("/case-{}", case.id))),
            "--protocol-version" => {
                settings.server_era = match value.as_str() {
                    "auto" => ServerEra::Auto,
                    "legacy" => ServerEra::Legacy,
                    "2026-07-28" => ServerEra::Modern,
                    _ => return Err(format!("{flag} {value}: no such era")),
                }
            }
            _ => return Err(format!("{flag} is not known")),
        }
    }
    Ok(settings)
}
