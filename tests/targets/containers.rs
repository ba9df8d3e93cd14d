// Strings and lists of Rust for what shows them.
use std::hint::black_box;

pub struct Point {
    pub x: i32,
    pub y: i32,
    pub z: i32,
    pub w: i64,
    pub name: String,
    pub label: &'static str,
}

#[inline(never)]
fn text(a: &str, n: u32, b: &String) -> usize {
    black_box(a.len() + n as usize + b.len())
}

#[inline(never)]
fn owned(s: String, k: i16) -> usize {
    black_box(s.len().wrapping_add(k as usize))
}

#[inline(never)]
fn list(v: &Vec<i32>, s: &[u16], on: bool) -> usize {
    black_box(v.len() + s.len() + on as usize)
}

#[inline(never)]
fn point(p: &Point, c: char) -> i64 {
    black_box(p.w + c as i64)
}

#[inline(never)]
fn give(n: u32) -> String {
    "x".repeat(n as usize)
}

fn main() {
    let b = String::from("an owned one");
    let mut sum = text(black_box("borrowed"), black_box(7), &b);
    sum += text(black_box(""), black_box(8), &String::new());
    sum = sum.wrapping_add(owned(black_box("moved ".repeat(100)), black_box(-3)));
    sum += list(&black_box(vec![1, -2, 3]), &black_box([7, 8]), true);
    sum += list(&black_box((0..1000).collect()), &[], false);
    let p = Point { x: 1, y: -2, z: 3, w: 1 << 40, name: String::from("middle"), label: "here" };
    sum += point(&black_box(p), black_box('A')) as usize;
    sum += give(black_box(3)).len();
    println!("{}", sum);
}
