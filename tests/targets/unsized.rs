// What Rust passes without saying so, or says that it passes and does not: what a closure captures, and functions that are
// parameters. Besides, what is lost through the standard library. The last line is the sum of all.
use std::hint::black_box;

#[inline(never)]
fn with<F: Fn(u32) -> u32>(f: F, n: u32) -> u32 {
    black_box(f(n))
}

#[inline(never)]
fn apply<F: Fn(u32, u32) -> u32>(f: F, n: u32, m: u32) -> u32 {
    black_box(f(n, m))
}

#[inline(never)]
fn pointer(f: fn(u32, u32) -> u32, n: u32) -> u32 {
    black_box(f(n, 2))
}

#[inline(never)]
fn mul(n: u32, m: u32) -> u32 {
    black_box(n * m)
}

#[inline(never)]
fn lost(n: usize) {
    std::mem::forget(black_box(vec![0u8; n]));
}

#[inline(never)]
fn pushed(n: usize) {
    let mut v = Vec::<u64>::new();
    v.push(n as u64);
    std::mem::forget(black_box(v));
}

fn main() {
    let mut sum = 0;
    for i in 0..23u32 {
        let k = black_box(i * 1000);
        sum += with(|x| black_box(x + k), i);
        sum += with(|y| black_box(y + 1), i);
        sum += apply(mul, i, i + 50);
        sum += pointer(mul, i);
        lost(5000);
        pushed(1);
    }
    println!("{}", sum);
}
