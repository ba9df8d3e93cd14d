// Strings and lists of Go for what shows them.
package main

import "strings"

type Point struct {
	x, y, z int32
	w       int64
	name    string
	label   string
}

//go:noinline
func text(a string, n uint32, b *string) int { return len(a) + int(n) + len(*b) }

//go:noinline
func list(v []int64, s []uint16, on bool) int {
	if on {
		return len(v) + len(s)
	}
	return len(v)
}

//go:noinline
func point(p *Point, k int16) int64 { return p.w + int64(k) }

type Mixed struct {
	small int32
	large int64
}

//go:noinline
func mixed(m Mixed, x float64, a [2]int, b [1]int, none struct{}, s string, last int8) int {
	return int(m.large) + a[0] + b[0] + len(s) + int(last) + int(x)
}

//go:noinline
func many(a, b, c, d, e, f, g string, h int) int {
	return len(a) + len(b) + len(c) + len(d) + len(e) + len(f) + len(g) + h
}

func main() {
	owned, empty := "an owned one", ""
	sum := text("borrowed", 7, &owned) + text("", 8, &empty)
	sum += text(strings.Repeat("l", 300), 9, &owned)
	sum += list([]int64{1, -2, 3}, []uint16{7, 8}, true) + list(make([]int64, 1000), nil, false)
	p := Point{1, -2, 3, 1 << 40, "middle", "here"}
	sum += int(point(&p, -3))
	sum += mixed(Mixed{1, 2}, 0.5, [2]int{3, 4}, [1]int{5}, struct{}{}, "behind", -6)
	sum += many("a", "bb", "ccc", "dddd", "eeeee", "ffffff", "ggggggg", 8)
	println(sum)
}
