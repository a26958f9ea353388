// RocksDB's FastLocalBloom, of which the header says all; its name space is another one in each of the two objects
// that this file becomes.
#include <memory>

#include "subject.h"
#include "util/bloom_impl.h"

namespace {

using ROCKSDB_NAMESPACE::FastLocalBloomImpl;

struct Line {
  alignas(64) char bytes[64];
};

struct FastLocal final : Subject {
  int probes;
  std::uint32_t lines;
  std::unique_ptr<Line[]> data;

  FastLocal(std::uint64_t items, int millibits)
      : probes(FastLocalBloomImpl::ChooseNumProbes(millibits)),
        lines(std::uint32_t((items * millibits / 1000 + 511) / 512)),
        data(new Line[lines]()) {}

  char* start() const { return data[0].bytes; }

  // One folded multiplication, as the other filters here have, and not the hash of strings that RocksDB takes.
  static std::uint64_t hash(std::uint64_t key) {
    unsigned __int128 product = (unsigned __int128)(key ^ 0x9E3779B97F4A7C15u) * 0xD6E8FEB86659FD93u;
    return std::uint64_t(product) ^ std::uint64_t(product >> 64);
  }

  void insert(const std::uint64_t* keys, std::size_t n) override {
    for (std::size_t i = 0; i < n; ++i) {
      std::uint64_t h = hash(keys[i]);
      FastLocalBloomImpl::AddHash(std::uint32_t(h >> 32), std::uint32_t(h), lines << 6, probes, start());
    }
  }

  std::uint64_t count(const std::uint64_t* keys, std::size_t n) const override {
    std::uint64_t found = 0;
    for (std::size_t i = 0; i < n; ++i) {
      std::uint64_t h = hash(keys[i]);
      found += FastLocalBloomImpl::HashMayMatch(std::uint32_t(h >> 32), std::uint32_t(h), lines << 6, probes,
                                                start());
    }
    return found;
  }

  std::uint64_t bits() const override { return std::uint64_t(lines) * 512; }
};

}  // namespace

// As few bits as reach the rate by RocksDB's own estimate; nothing where its 32 bits do not count the bytes.
static void* fast_local(std::uint64_t items, double rate) {
  for (int millibits = 2000; millibits < 50000; millibits += 100) {
    std::size_t bytes = items * millibits / 8000;
    int probes = FastLocalBloomImpl::ChooseNumProbes(millibits);
    if (bytes >= 0xFFFFFFC0u) return nullptr;
    if (FastLocalBloomImpl::EstimatedFpRate(items, bytes, probes, 64) <= rate)
      return static_cast<Subject*>(new FastLocal(items, millibits));
  }
  return nullptr;
}

extern "C" {
struct Table {
  Calls calls;
  decltype(&fast_local) make;
};
extern const Table TABLE;
const Table TABLE = {CALLS, &fast_local};
}
