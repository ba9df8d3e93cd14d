! Variables of a module: plain ones, which handlers read, and arrays that are no arrays of C.
module kept
  implicit none
  integer :: plain = 23
  integer :: bounded(5:8) = (/ 50, 60, 70, 80 /)
  integer :: square(2, 3)
  integer, allocatable :: allocated_one(:)
  integer, pointer :: pointed(:)
  integer, target :: target_one(3) = (/ 7, 8, 9 /)
contains
  subroutine work(i)
    integer, intent(in) :: i
    plain = plain + i
    bounded(5) = bounded(5) + square(1, 2) + allocated_one(1) + pointed(2)
  end subroutine
end module

program main
  use kept
  implicit none
  integer :: i
  allocate(allocated_one(4))
  allocated_one = (/ 11, 22, 33, 44 /)
  square = reshape((/ 1, 2, 3, 4, 5, 6 /), (/ 2, 3 /))
  pointed => target_one(1:3:2)
  do i = 1, 3
    call work(i)
  end do
  print *, "truth", plain, bounded(5)
end program
