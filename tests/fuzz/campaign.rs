//! Many seeds of one target, and what is told of the first that fails.

use std::fmt::Write as _;
use std::fs::{self, File};
use std::os::unix::fs::FileExt;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::path::PathBuf;
use std::process::{Command, ExitCode};
use std::sync::Mutex;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::{Duration, Instant};

use super::rng::Rng;
use super::shrink::shrunk;
use super::{Target, Verdict};

/// The word with which this program starts itself to play one target.
pub(crate) const PLAY: &str = "--play";

/// Small, so that code that follows an input down its nesting falls over here.
const STACK: usize = 1 << 20;
/// Characters of an input that are shown.
const SHOWN: usize = 3000;

/// A number from the environment.
fn number(name: &str) -> Option<u64> {
    std::env::var(name).ok()?.parse().ok()
}

/// Plays a target in a process of its own; false when it failed.
pub(crate) fn run(target: &Target) -> bool {
    let Some(mut itself) = itself(target) else { return false };
    let Ok(status) = itself.status() else { return false };
    if status.code().is_some() {
        return status.success();
    }
    println!("FAIL {}  {status}", target.name);
    let suspects = number("FUZZ_SEED").map_or_else(|| seeds_at_the_end(target), |seed| vec![seed]);
    for seed in suspects {
        tell_of_an_abort(target, seed);
    }
    false
}

fn itself(target: &Target) -> Option<Command> {
    let mut command = Command::new(std::env::current_exe().ok()?);
    command.args([PLAY, target.name]);
    Some(command)
}

/// Plays one seed by itself and tells its input, if that is what ends the process.
fn tell_of_an_abort(target: &Target, seed: u64) {
    let played =
        itself(target).map(|mut itself| itself.env("FUZZ_SEED", seed.to_string()).output());
    if let Some(Ok(output)) = played
        && output.status.code().is_none()
    {
        println!("{}{}", String::from_utf8_lossy(&output.stdout), replay(target, seed));
    }
}

/// The seeds that were being played when the process ended.
fn seeds_at_the_end(target: &Target) -> Vec<u64> {
    let bytes = fs::read(notebook(target)).unwrap_or_default();
    bytes
        .chunks_exact(8)
        .filter_map(|seed| Some(u64::from_le_bytes(seed.try_into().ok()?)))
        .collect()
}

/// Where each thread writes which seed it plays; memory would be gone with the process.
fn notebook(target: &Target) -> PathBuf {
    PathBuf::from(env!("CARGO_TARGET_TMPDIR")).join(format!("fuzz-{}", target.name))
}

fn input(target: &Target, seed: u64) -> Vec<u8> {
    (target.generate)(&mut Rng::new(seed))
}

/// Judges an input; a panic is a fault like others.
fn judged(target: &Target, seed: u64, input: &[u8]) -> Verdict {
    if is_taken(input) {
        return Ok(());
    }
    let judge = || (target.check)(&mut Rng::new(seed), input);
    catch_unwind(AssertUnwindSafe(judge)).unwrap_or_else(|cause| {
        let text = cause.downcast_ref::<String>().map(String::as_str);
        let text = text.or_else(|| cause.downcast_ref::<&str>().copied());
        Err(format!("panic: {}", text.unwrap_or_default()))
    })
}

/// Holds it characters of the private plane that the model puts halves of surrogate pairs into?
fn is_taken(input: &[u8]) -> bool {
    let text = String::from_utf8_lossy(input).to_ascii_lowercase();
    text.contains(|c: char| ('\u{10d800}'..'\u{10e000}').contains(&c))
        || ["\\udbf6", "\\udbf7"].iter().any(|escape| text.contains(escape))
}

/// Plays the seed that was asked for, or many of them.
pub(crate) fn play(target: &Target) -> ExitCode {
    // The report tells what a panic said; a shrinking input panics a thousand times.
    std::panic::set_hook(Box::new(|_| {}));
    let Some(seed) = number("FUZZ_SEED") else { return Campaign::new(target).run() };
    let on_small_stack = std::thread::Builder::new().stack_size(STACK);
    let target = Target { ..*target };
    let played = on_small_stack.spawn(move || {
        let input = input(&target, seed);
        println!("{} seed {seed}: {}", target.name, shown(&input));
        match judged(&target, seed, &input) {
            Ok(()) => true,
            Err(fault) => {
                println!("{}", story(&target, seed, &input, &fault));
                false
            }
        }
    });
    match played.map(std::thread::JoinHandle::join) {
        Ok(Ok(true)) => ExitCode::SUCCESS,
        Ok(_) | Err(_) => ExitCode::FAILURE,
    }
}

struct Campaign<'t> {
    target: &'t Target,
    started: Instant,
    until: Option<Duration>,
    next: AtomicU64,
    end: u64,
    played: AtomicU64,
    cpu_ns: AtomicU64,
    /// The first seed that failed, with its fault.
    broken: Mutex<Option<(u64, String)>>,
}

#[allow(clippy::disallowed_methods, reason = "a campaign ends by the clock; no test waits for it")]
impl<'t> Campaign<'t> {
    fn new(target: &'t Target) -> Self {
        let first = number("FUZZ_FIRST").unwrap_or(1);
        let until = number("FUZZ_SECONDS").map(Duration::from_secs);
        let end = if until.is_some() { u64::MAX } else { first + target.seeds };
        Campaign {
            target,
            started: Instant::now(),
            until,
            next: AtomicU64::new(first),
            end,
            played: AtomicU64::new(0),
            cpu_ns: AtomicU64::new(0),
            broken: Mutex::new(None),
        }
    }

    fn run(&self) -> ExitCode {
        let workers = std::thread::available_parallelism().map_or(1, usize::from);
        let notebook = File::create(notebook(self.target)).ok();
        std::thread::scope(|scope| {
            for (worker, notebook) in (0..).zip(std::iter::repeat_n(notebook.as_ref(), workers)) {
                let work = move || self.work(worker, notebook);
                let _ = std::thread::Builder::new().stack_size(STACK).spawn_scoped(scope, work);
            }
        });
        let (name, played) = (self.target.name, self.played.load(Ordering::Relaxed));
        let seconds = Duration::from_nanos(self.cpu_ns.load(Ordering::Relaxed)).as_secs_f64();
        let broken = self.broken.lock().ok().and_then(|mut broken| broken.take());
        let word = if broken.is_none() { "PASS" } else { "FAIL" };
        println!("{word} {name}  {played} inputs in {seconds:.1} s of CPU");
        let Some((seed, fault)) = broken else { return ExitCode::SUCCESS };
        println!("{}", story(self.target, seed, &input(self.target, seed), &fault));
        ExitCode::FAILURE
    }

    fn work(&self, worker: u64, notebook: Option<&File>) {
        while self.until.is_none_or(|until| self.started.elapsed() < until) {
            let seed = self.next.fetch_add(1, Ordering::Relaxed);
            if seed >= self.end || self.broken.lock().is_ok_and(|broken| broken.is_some()) {
                break;
            }
            if let Some(notebook) = notebook {
                let _ = notebook.write_at(&seed.to_le_bytes(), worker * 8);
            }
            let verdict = judged(self.target, seed, &input(self.target, seed));
            self.played.fetch_add(1, Ordering::Relaxed);
            if let (Err(fault), Ok(mut broken)) = (verdict, self.broken.lock())
                && broken.as_ref().is_none_or(|(first, _)| seed < *first)
            {
                *broken = Some((seed, fault));
            }
        }
        self.cpu_ns.fetch_add(self.cpu_of_this_thread(), Ordering::Relaxed);
    }

    /// Nanoseconds; where the system does not say, those on the clock.
    fn cpu_of_this_thread(&self) -> u64 {
        let told = fs::read_to_string("/proc/thread-self/schedstat").ok();
        let told = told.and_then(|text| text.split(' ').next()?.parse().ok());
        told.unwrap_or_else(|| u64::try_from(self.started.elapsed().as_nanos()).unwrap_or(u64::MAX))
    }
}

/// What failed, on what, on how little of it, and how to see it again.
fn story(target: &Target, seed: u64, input: &[u8], fault: &str) -> String {
    let small = shrunk(input, fault, |input| judged(target, seed, input));
    let what = judged(target, seed, &small).err().unwrap_or_default();
    let mut text = format!("target {}, seed {seed}\nfault: {}\n", target.name, cut(fault));
    let _ = writeln!(text, "input: {}", shown(input));
    let _ = writeln!(text, "smallest input: {}\nits fault: {}", shown(&small), cut(&what));
    text + &replay(target, seed)
}

fn replay(target: &Target, seed: u64) -> String {
    format!("FUZZ_SEED={seed} cargo test --test fuzz -- {}", target.name)
}

fn shown(input: &[u8]) -> String {
    cut(&input.escape_ascii().to_string())
}

fn cut(text: &str) -> String {
    match text.char_indices().nth(SHOWN) {
        Some((at, _)) => format!("{}… ({} bytes)", &text[..at], text.len()),
        None => text.to_owned(),
    }
}
