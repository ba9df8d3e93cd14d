// A constructor and a destructor that are inlined where main makes objects, 23 times, and called for 7 others.
volatile int sink;

struct Object {
    int value;
    Object(int a);
    ~Object();
};

Object::Object(int a) : value(a)
{
    sink = a;
}

Object::~Object()
{
    sink = value;
}

static Object *make(int i)
{
    return new Object(i);
}

static Object *(*volatile pointer)(int) = make;

int main()
{
    for (int i = 0; i < 23; i++)
        Object object(i);
    for (int i = 0; i < 7; i++)
        delete pointer(i);
    return 0;
}
