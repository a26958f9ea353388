// Boost.Bloom's filters behind a few C functions. Loops over keys are on this side, so that the calls
// inline and nothing is added to what Boost takes for a key.
#include <boost/bloom.hpp>
#include <cstddef>
#include <cstdint>
#include <string_view>

namespace {

struct Subject {
  virtual ~Subject() = default;
  virtual void insert(const std::uint64_t* keys, std::size_t n) = 0;
  virtual std::uint64_t count(const std::uint64_t* keys, std::size_t n) const = 0;
  virtual std::uint64_t bits() const = 0;
};

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
using boost::bloom::filter;

}  // namespace

extern "C" {

// 8 bits in eight 32-bit lanes; stride 0 keeps blocks apart, stride 1 lets them start at any byte.
void* boost_multiblock(std::uint64_t items, double rate, int stride) {
  using Apart = filter<std::uint64_t, 1, fast_multiblock32<8>>;
  using Dense = filter<std::uint64_t, 1, fast_multiblock32<8>, 1>;
  if (stride == 0) return static_cast<Subject*>(new Of<Apart>(std::size_t(items), rate));
  return static_cast<Subject*>(new Of<Dense>(std::size_t(items), rate));
}

void* boost_classic(std::uint64_t bits, int k) {
  if (k == 7) return static_cast<Subject*>(new Of<filter<std::uint64_t, 7>>(std::size_t(bits)));
  if (k == 10) return static_cast<Subject*>(new Of<filter<std::uint64_t, 10>>(std::size_t(bits)));
  return nullptr;
}

void boost_insert(void* subject, const std::uint64_t* keys, std::size_t n) {
  static_cast<Subject*>(subject)->insert(keys, n);
}

std::uint64_t boost_count(const void* subject, const std::uint64_t* keys, std::size_t n) {
  return static_cast<const Subject*>(subject)->count(keys, n);
}

std::uint64_t boost_bits(const void* subject) { return static_cast<const Subject*>(subject)->bits(); }

void boost_free(void* subject) { delete static_cast<Subject*>(subject); }
}
