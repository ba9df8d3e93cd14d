// A function that is inlined into main, where it runs 23 times, and called by a pointer as often.
mod parts {
    #[inline]
    pub fn hot(i: i32) -> i32 {
        std::hint::black_box(i * 3)
    }
}

fn main() {
    let pointer: fn(i32) -> i32 = std::hint::black_box(parts::hot);
    let mut total = 0;
    for i in 0..23 {
        total += parts::hot(i) + pointer(i);
    }
    std::process::exit(total & 1);
}
