/* The structures that memory.c hands around; tests/lua/typed_memory_test.lua gives this file, as it stands, to
 * ffi.cdef. */
struct item {
    struct item *next;
    int value;
    char name[20];
};

enum color { RED, GREEN = 5, BLUE };
enum sign { MINUS = -1, ZERO };

struct header {
    uint16_t id;
    uint8_t kind;
    struct {
        int8_t x;
        uint64_t y;
    } inner;
};

struct shapes {
    int8_t i8;
    uint8_t u8;
    int16_t i16;
    uint16_t u16;
    int32_t i32;
    uint32_t u32;
    int64_t i64;
    uint64_t u64;
    bool yes, no;
    enum color color;
    enum sign sign;
    struct header header;
    struct {
        int x;
        union {
            int y;
            long z;
        };
    };
    union {
        int32_t whole;
        uint16_t halves[2];
        uint8_t bytes[4];
    } word;
    unsigned low : 3;
    int high : 5;
    unsigned wide : 24;
    bool flag : 1, unset : 1, set : 1;
    int list[4];
    int matrix[2][3];
    struct header headers[3];
    struct shapes *self, **twice;
    struct unknown *unknown;
    void *nothing;
    void (*call)(struct shapes *);
    double ratio;
    const char *text;
    char full[8], nine[9], short_name[64], names[2][8], large[1000];
    uint8_t tail[1];
};
