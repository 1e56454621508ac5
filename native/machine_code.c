/* The extension module pliant._machine_code: kernels and units that were compiled ahead of time, callable from Python.

Object code comes from `native/build.py`, once for each level of processors, with one function for each entry:

    int32 kernel(int64 *words, void *result)       status, 0 if all is well
    void unit(int64 task, ...)                      as `pliant._call.Unit` says; only its address is given away

`words` holds the arguments: a number is one word, an array its address and its shape. Arrays are read by the buffer protocol, so that the module needs
neither numpy's nor Python's headers of a certain version (limited API of Python 3.11). Arguments that do not fit go to a function of Python, `otherwise`.

Nothing here is written after the module was loaded, and kernels write only what they are given: threads may call them at once (the interpreter's lock is
released meanwhile), also in forked processes.
*/

#define Py_LIMITED_API 0x030B0000
#define PY_SSIZE_T_CLEAN
#include <Python.h>
#include <math.h>
#include <stdint.h>
#include <string.h>
#include "entries.h" /* LEVELS, ENTRIES, level_names, entries[LEVELS][ENTRIES], table_text */

#define MOST_ARGUMENTS 32
#define MOST_WORDS (4 * MOST_ARGUMENTS)

typedef int32_t (*kernel_entry)(int64_t *words, void *result);

/* ------------------------------------------------------------------ what object code of numba may call */

/* The strides of an array in another shape, without a copy: arrays of kernels are contiguous. Returns 0 if it cannot be done. */
int numba_attempt_nocopy_reshape(intptr_t nd, const intptr_t *dims, const intptr_t *strides, intptr_t newnd, const intptr_t *newdims,
                                 intptr_t *newstrides, intptr_t itemsize, int is_f_order)
{
    intptr_t expected = itemsize;
    for (intptr_t k = nd - 1; k >= 0; k--) {
        if (dims[k] != 1 && strides[k] != expected)
            return 0;
        expected *= dims[k];
    }
    (void)is_f_order;
    intptr_t step = itemsize;
    for (intptr_t k = newnd - 1; k >= 0; k--) {
        newstrides[k] = step;
        step *= newdims[k];
    }
    return 1;
}

/* A complex power x^p, in polar form: |x|^Re p e^(-Im p arg x) at the angle Re p arg x + Im p log |x|. */
void numba_cpow(const double *x, const double *p, double *out)
{
    if (p[0] == 0.0 && p[1] == 0.0) {
        out[0] = 1.0;
        out[1] = 0.0;
        return;
    }
    if (x[0] == 0.0 && x[1] == 0.0) {
        out[0] = out[1] = p[1] != 0.0 || p[0] < 0.0 ? NAN : 0.0;
        return;
    }
    double size = hypot(x[0], x[1]), angle = atan2(x[1], x[0]);
    double length = pow(size, p[0]), turn = p[0] * angle;
    if (p[1] != 0.0) {
        length *= exp(-p[1] * angle);
        turn += p[1] * log(size);
    }
    out[0] = length * cos(turn);
    out[1] = length * sin(turn);
}

double numba_nextafter(double x, double towards) { return nextafter(x, towards); }

/* Arrays of kernels own no memory, so nothing is ever released. */
void NRT_MemInfo_call_dtor(void *info)
{
    (void)info;
    Py_FatalError("pliant: a kernel compiled ahead of time released memory");
}

/* ------------------------------------------------------------------ levels of processors */

#if defined(_MSC_VER) && (defined(_M_X64) || defined(_M_IX86))
#include <immintrin.h>
#include <intrin.h>
static int has_v2(void)
{
    int r[4];
    __cpuid(r, 1);
    return (r[2] >> 9 & 1) && (r[2] >> 19 & 1) && (r[2] >> 20 & 1) && (r[2] >> 23 & 1);
}
static int has_v3(void)
{
    int r[4], s[4];
    __cpuid(r, 1);
    __cpuidex(s, 7, 0);
    if (!has_v2() || !(r[2] >> 12 & 1) || !(r[2] >> 27 & 1) || !(r[2] >> 28 & 1))
        return 0;
    return (s[1] >> 5 & 1) && (s[1] >> 3 & 1) && (s[1] >> 8 & 1) && (_xgetbv(0) & 6) == 6;
}
#elif defined(__x86_64__) || defined(__i386__)
static int has_v2(void)
{
    __builtin_cpu_init();
    return __builtin_cpu_supports("ssse3") && __builtin_cpu_supports("sse4.1") && __builtin_cpu_supports("sse4.2") &&
           __builtin_cpu_supports("popcnt");
}
static int has_v3(void)
{
    return has_v2() && __builtin_cpu_supports("avx2") && __builtin_cpu_supports("fma") && __builtin_cpu_supports("bmi") &&
           __builtin_cpu_supports("bmi2");
}
#else
static int has_v2(void) { return 0; }
static int has_v3(void) { return 0; }
#endif

static int is_usable(int level)
{
    const char *name = level_names[level];
    if (strcmp(name, "v2") == 0)
        return has_v2();
    if (strcmp(name, "v3") == 0)
        return has_v3();
    return 1; /* "base": every processor of this kind */
}

static int find_level(const char *name)
{
    for (int k = 0; k < LEVELS; k++)
        if (strcmp(level_names[k], name) == 0) {
            if (is_usable(k))
                return k;
            PyErr_Format(PyExc_ValueError, "this processor does not have the level %s", name);
            return -1;
        }
    PyErr_Format(PyExc_ValueError, "there is no level %s", name);
    return -1;
}

/* ------------------------------------------------------------------ kernels */

typedef struct {
    PyObject_HEAD
    kernel_entry entry;
    int count;
    char kind[MOST_ARGUMENTS]; /* n, x, b, i, f */
    char axes[MOST_ARGUMENTS];
    char result; /* n, x, or v for none */
    PyObject *otherwise;
} Kernel;

/* Fill the words of an array; 0 if it is not what the kernel takes. */
static int put_array(PyObject *value, char kind, int axes, Py_buffer *view, int64_t *words)
{
    if (PyObject_GetBuffer(value, view, PyBUF_C_CONTIGUOUS | PyBUF_FORMAT) < 0)
        return 0;
    const char *format = view->format ? view->format : "B";
#if PY_BIG_ENDIAN
    if (*format == '>' || *format == '=' || *format == '@' || *format == '!')
#else
    if (*format == '<' || *format == '=' || *format == '@')
#endif
        format++;
    int fits = view->ndim == axes && view->itemsize == 8 && format[0] && !format[1];
    fits = fits && (kind == 'f' ? *format == 'd' : *format == 'l' || *format == 'q');
    if (!fits) {
        PyBuffer_Release(view);
        return 0;
    }
    words[0] = (int64_t)(intptr_t)view->buf;
    for (int k = 0; k < axes; k++)
        words[1 + k] = view->shape[k];
    return 1;
}

/* Fill the word of a number; 0 if it is none. */
static int put_number(PyObject *value, char kind, int64_t *word)
{
    if (kind == 'x') {
        double x = PyFloat_AsDouble(value);
        memcpy(word, &x, 8);
        return !PyErr_Occurred();
    }
    if (kind == 'b') {
        *word = PyObject_IsTrue(value);
        return *word >= 0;
    }
    if (PyLong_Check(value))
        *word = PyLong_AsLongLong(value);
    else {
        PyObject *number = PyNumber_Index(value);
        if (number == NULL)
            return 0;
        *word = PyLong_AsLongLong(number);
        Py_DECREF(number);
    }
    return !PyErr_Occurred();
}

static PyObject *kernel_call(PyObject *self, PyObject *arguments, PyObject *named)
{
    Kernel *kernel = (Kernel *)self;
    if (named != NULL && PyDict_Size(named) > 0) {
        PyErr_SetString(PyExc_TypeError, "kernels take no arguments by name");
        return NULL;
    }
    if (PyTuple_Size(arguments) != kernel->count) {
        PyErr_Format(PyExc_TypeError, "the kernel takes %d arguments, not %zd", kernel->count, PyTuple_Size(arguments));
        return NULL;
    }
    int64_t words[MOST_WORDS], place = 0, result = 0;
    Py_buffer views[MOST_ARGUMENTS];
    int held = 0, fits = 1;
    for (int k = 0; fits && k < kernel->count; k++) {
        PyObject *value = PyTuple_GetItem(arguments, k); /* borrowed */
        if (kernel->axes[k]) {
            fits = put_array(value, kernel->kind[k], kernel->axes[k], &views[held], words + place);
            held += fits;
            place += 1 + kernel->axes[k];
        }
        else
            fits = put_number(value, kernel->kind[k], words + place++);
    }
    int32_t status = 0;
    if (fits) {
        Py_BEGIN_ALLOW_THREADS
        status = kernel->entry(words, &result);
        Py_END_ALLOW_THREADS
    }
    for (int k = 0; k < held; k++)
        PyBuffer_Release(&views[k]);
    if (!fits) {
        PyErr_Clear();
        return PyObject_Call(kernel->otherwise, arguments, NULL);
    }
    if (status != 0)
        return PyErr_Format(PyExc_RuntimeError, "a kernel compiled ahead of time failed with status %d", (int)status);
    if (kernel->result == 'n')
        return PyLong_FromLongLong(result);
    if (kernel->result == 'x') {
        double x;
        memcpy(&x, &result, 8);
        return PyFloat_FromDouble(x);
    }
    Py_RETURN_NONE;
}

static PyObject *kernel_new(PyTypeObject *type, PyObject *arguments, PyObject *named)
{
    static char *names[] = {"level", "number", "arguments", "result", "otherwise", NULL};
    const char *level, *text, *result;
    int number;
    PyObject *otherwise;
    if (!PyArg_ParseTupleAndKeywords(arguments, named, "sissO", names, &level, &number, &text, &result, &otherwise))
        return NULL;
    int k = find_level(level);
    if (k < 0)
        return NULL;
    if (number < 0 || number >= ENTRIES)
        return PyErr_Format(PyExc_ValueError, "there is no entry %d", number);
    allocfunc allocate = (allocfunc)PyType_GetSlot(type, Py_tp_alloc);
    Kernel *kernel = (Kernel *)allocate(type, 0);
    if (kernel == NULL)
        return NULL;
    kernel->entry = (kernel_entry)entries[k][number];
    kernel->result = *result;
    Py_INCREF(otherwise);
    kernel->otherwise = otherwise;
    for (; *text; text++) {
        if (*text == ' ')
            continue;
        if (kernel->count == MOST_ARGUMENTS || !strchr("nxbif", *text)) {
            Py_DECREF((PyObject *)kernel);
            return PyErr_Format(PyExc_ValueError, "arguments of a kernel cannot be %s", text);
        }
        kernel->kind[kernel->count] = *text;
        if (text[1] >= '1' && text[1] <= '3')
            kernel->axes[kernel->count] = *++text - '0';
        kernel->count++;
    }
    return (PyObject *)kernel;
}

static int kernel_traverse(PyObject *self, visitproc visit, void *arg)
{
    Py_VISIT(Py_TYPE(self));
    Py_VISIT(((Kernel *)self)->otherwise);
    return 0;
}

static int kernel_clear(PyObject *self)
{
    Py_CLEAR(((Kernel *)self)->otherwise);
    return 0;
}

static void kernel_dealloc(PyObject *self)
{
    PyTypeObject *type = Py_TYPE(self);
    PyObject_GC_UnTrack(self);
    kernel_clear(self);
    freefunc release = (freefunc)PyType_GetSlot(type, Py_tp_free);
    release(self);
    Py_DECREF((PyObject *)type);
}

/* Names, documentation and all else are those of the kernel that numba would compile. */
static PyObject *kernel_getattr(PyObject *self, PyObject *name)
{
    PyObject *found = PyObject_GenericGetAttr(self, name);
    if (found != NULL || !PyErr_ExceptionMatches(PyExc_AttributeError))
        return found;
    PyErr_Clear();
    PyObject *owner = PyObject_GetAttrString(((Kernel *)self)->otherwise, "__self__");
    if (owner == NULL)
        return NULL;
    found = PyObject_GetAttr(owner, name);
    Py_DECREF(owner);
    return found;
}

static PyObject *kernel_otherwise(PyObject *self, void *closure)
{
    (void)closure;
    PyObject *found = ((Kernel *)self)->otherwise;
    Py_INCREF(found);
    return found;
}

static PyObject *kernel_of_fallback(PyObject *self, void *name)
{
    PyObject *owner = PyObject_GetAttrString(((Kernel *)self)->otherwise, "__self__");
    if (owner == NULL)
        return NULL;
    PyObject *found = PyObject_GetAttrString(owner, name);
    Py_DECREF(owner);
    return found;
}

static PyGetSetDef kernel_attributes[] = {
    {"otherwise", kernel_otherwise, NULL, "called with arguments that do not fit", NULL},
    {"__doc__", kernel_of_fallback, NULL, NULL, "__doc__"},
    {"__module__", kernel_of_fallback, NULL, NULL, "__module__"},
    {NULL, NULL, NULL, NULL, NULL},
};

static PyType_Slot kernel_slots[] = {
    {Py_tp_new, kernel_new},
    {Py_tp_call, kernel_call},
    {Py_tp_dealloc, kernel_dealloc},
    {Py_tp_traverse, kernel_traverse},
    {Py_tp_clear, kernel_clear},
    {Py_tp_getattro, kernel_getattr},
    {Py_tp_getset, kernel_attributes},
    {0, NULL},
};

static PyType_Spec kernel_spec = {
    .name = "pliant._machine_code.Kernel",
    .basicsize = sizeof(Kernel),
    .flags = Py_TPFLAGS_DEFAULT | Py_TPFLAGS_HAVE_GC | Py_TPFLAGS_IMMUTABLETYPE,
    .slots = kernel_slots,
};

/* ------------------------------------------------------------------ the module */

static PyObject *usable(PyObject *self, PyObject *nothing)
{
    (void)self, (void)nothing;
    PyObject *found = PyList_New(0);
    for (int k = 0; found != NULL && k < LEVELS; k++) {
        if (!is_usable(k))
            continue;
        PyObject *name = PyUnicode_FromString(level_names[k]);
        if (name == NULL || PyList_Append(found, name) < 0)
            Py_CLEAR(found);
        Py_XDECREF(name);
    }
    return found;
}

static PyObject *table(PyObject *self, PyObject *nothing)
{
    (void)self, (void)nothing;
    return PyUnicode_FromString((const char *)table_text);
}

static PyObject *address(PyObject *self, PyObject *arguments)
{
    (void)self;
    const char *level;
    int number;
    if (!PyArg_ParseTuple(arguments, "si", &level, &number))
        return NULL;
    int k = find_level(level);
    if (k < 0)
        return NULL;
    if (number < 0 || number >= ENTRIES)
        return PyErr_Format(PyExc_ValueError, "there is no entry %d", number);
    return PyLong_FromVoidPtr((void *)entries[k][number]);
}

static PyMethodDef functions[] = {
    {"usable", usable, METH_NOARGS, "The levels that this processor has, the best last."},
    {"table", table, METH_NOARGS, "What there is and what it was made of, as JSON."},
    {"address", address, METH_VARARGS, "Where the entry of a unit is: address(level, number)."},
    {NULL, NULL, 0, NULL},
};

static int fill(PyObject *module)
{
    PyObject *type = PyType_FromModuleAndSpec(module, &kernel_spec, NULL);
    if (type == NULL)
        return -1;
    int failed = PyModule_AddObjectRef(module, "Kernel", type);
    Py_DECREF(type);
    return failed;
}

static PyModuleDef_Slot slots[] = {{Py_mod_exec, fill}, {0, NULL}};

static struct PyModuleDef definition = {
    PyModuleDef_HEAD_INIT, .m_name = "pliant._machine_code", .m_doc = "Kernels compiled ahead of time.", .m_methods = functions, .m_slots = slots,
};

PyMODINIT_FUNC PyInit__machine_code(void) { return PyModuleDef_Init(&definition); }
