// A filter behind a few C functions. Loops over keys are on this side, so that the calls inline and nothing is
// added to what the filter takes for a key.
#pragma once
#include <cstddef>
#include <cstdint>

namespace {

struct Subject {
  virtual ~Subject() = default;
  virtual void insert(const std::uint64_t* keys, std::size_t n) = 0;
  virtual std::uint64_t count(const std::uint64_t* keys, std::size_t n) const = 0;
  virtual std::uint64_t bits() const = 0;
};

}  // namespace

static void insert(void* subject, const std::uint64_t* keys, std::size_t n) {
  static_cast<Subject*>(subject)->insert(keys, n);
}

static std::uint64_t count(const void* subject, const std::uint64_t* keys, std::size_t n) {
  return static_cast<const Subject*>(subject)->count(keys, n);
}

static std::uint64_t bits(const void* subject) { return static_cast<const Subject*>(subject)->bits(); }

static void release(void* subject) { delete static_cast<Subject*>(subject); }

extern "C" {
// What can be done with any of them.
struct Calls {
  decltype(&insert) insert;
  decltype(&count) count;
  decltype(&bits) bits;
  decltype(&release) release;
};
}

#define CALLS {&insert, &count, &bits, &release}
