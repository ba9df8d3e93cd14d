! Arguments of Fortran: by reference and by value, in registers and on the stack, texts with and without a length of
! their own, derived types, arrays, logicals of several sizes. Each procedure is called 23 times, with what `call` says.
module shapes
  use iso_c_binding
  implicit none
  type point
    integer :: x, y
    real(8) :: z
  end type
contains
  subroutine store(count, small, big, single, mark, spot, extra, code)
    integer(4), intent(in) :: count
    integer(2), intent(in) :: small
    integer(8), intent(inout) :: big
    real(4), intent(in) :: single
    logical(1), intent(in) :: mark
    type(point), intent(in) :: spot
    integer(8), intent(in) :: extra
    integer, value :: code
    big = big + count + small + code + spot%y + extra
    if (mark .and. single > 1000.0) print *, big
  end subroutine
  subroutine lists(label, grid, from, pair, flags)
    character(len=4), intent(in) :: label
    integer, intent(in) :: grid(4)
    integer, intent(in) :: from(-1:1)
    complex(8), intent(in) :: pair
    logical, intent(in) :: flags(2)
    if (grid(2) + from(0) > 1000 .and. flags(1)) print *, label, pair
  end subroutine
  integer(c_int) function twice(number) bind(c)
    integer(c_int), value :: number
    twice = 2 * number
  end function
  subroutine texts(first, times, second)
    character(len=*), intent(in) :: first, second
    integer, intent(in) :: times
    if (times > 1000) print *, first, second
  end subroutine
end module
program main
  use shapes
  integer(8) :: big = 0, extra = -5000000000_8
  type(point) :: spot = point(3, -4, 1.25d0)
  integer :: i, s
  s = 0
  do i = 1, 23
    call store(-i, 7_2, big, 0.5, .true._1, spot, extra, 101)
    call lists('ab d', (/ 11, 22, 33, 44 /), (/ 5, 6, 7 /), (1.5d0, -2.5d0), (/ .false., .true. /))
    s = s + twice(i)
    call texts('xyz', i, 'a longer one')
  end do
  if (s /= 552) stop 1
end program
