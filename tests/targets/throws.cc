// 101 exceptions are thrown and caught; 23 of them are thrown again by who caught them, and caught once more.
int main()
{
    for (int i = 0; i < 101; i++) {
        try {
            try {
                throw i;
            } catch (int) {
                if (i < 23)
                    throw;
            }
        } catch (int) {
        }
    }
}
