//! The case's `bridge_args` as [`Settings`], for the memory player.

use std::ffi::OsString;

use mcp_uplift::args::{self, Request};
use mcp_uplift::bridge::Settings;

use super::case::Case;
use super::work::Work;

pub(crate) fn settings(case: &Case) -> Result<Settings, String> {
    let work = Work::create(&case.id, 1.0)?; // a `--root` has to exist
    let folder = work.folder.display().to_string();
    let words = case.bridge_args.iter().map(|arg| OsString::from(arg.replace("$WORK", &folder)));
    let request = args::parse(words.chain(["--".into(), "fake".into()]), &[]);
    work.remove();
    match request {
        Ok(Request::Run(options)) => Ok(options.settings),
        Ok(_) => Err("these arguments start nothing".to_owned()),
        Err(why) => Err(why.0),
    }
}
