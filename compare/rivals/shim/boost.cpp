// Boost.Bloom's filters.
#include <boost/bloom.hpp>
#include <string_view>

#include "subject.h"

namespace {

template <class Filter>
struct Of final : Subject {
  Filter filter;
  template <class... Args>
  explicit Of(Args... args) : filter(args...) {}
  void insert(const std::uint64_t* keys, std::size_t n) override {
    for (std::size_t i = 0; i < n; ++i) filter.insert(keys[i]);
  }
  std::uint64_t count(const std::uint64_t* keys, std::size_t n) const override {
    std::uint64_t found = 0;
    for (std::size_t i = 0; i < n; ++i) found += filter.may_contain(keys[i]);
    return found;
  }
  std::uint64_t bits() const override { return filter.capacity(); }
};

using boost::bloom::fast_multiblock32;

// A type of this object alone: filters of the two objects that this file becomes are different types then, and the
// linker does not take the code of one for both.
struct Hash : boost::hash<std::uint64_t> {};

template <std::size_t K, class Subfilter = boost::bloom::block<unsigned char, 1>, std::size_t Stride = 0>
using filter = boost::bloom::filter<std::uint64_t, K, Subfilter, Stride, Hash>;

}  // namespace

// 8 bits in eight 32-bit lanes; stride 0 keeps blocks apart, stride 1 lets them start at any byte.
static void* multiblock(std::uint64_t items, double rate, int stride) {
  using Apart = filter<1, fast_multiblock32<8>>;
  using Dense = filter<1, fast_multiblock32<8>, 1>;
  if (stride == 0) return static_cast<Subject*>(new Of<Apart>(std::size_t(items), rate));
  return static_cast<Subject*>(new Of<Dense>(std::size_t(items), rate));
}

static void* classic(std::uint64_t bits, int k) {
  if (k == 7) return static_cast<Subject*>(new Of<filter<7>>(std::size_t(bits)));
  if (k == 10) return static_cast<Subject*>(new Of<filter<10>>(std::size_t(bits)));
  return nullptr;
}

// This file is compiled twice: for any x86-64, and for the processor it is compiled on. TABLE is the name of what
// comes of it.
extern "C" {
struct Table {
  Calls calls;
  decltype(&multiblock) multiblock;
  decltype(&classic) classic;
};
extern const Table TABLE;
const Table TABLE = {CALLS, &multiblock, &classic};
}
