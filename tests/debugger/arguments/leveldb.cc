// Some of all that leveldb does, in memory and one after the other.
#include <cstdio>
#include <memory>
#include <string>

#include "helpers/memenv/memenv.h"
#include "leveldb/cache.h"
#include "leveldb/comparator.h"
#include "leveldb/db.h"
#include "leveldb/env.h"
#include "leveldb/filter_policy.h"
#include "leveldb/iterator.h"
#include "leveldb/write_batch.h"

static std::string key_of(int i)
{
    char text[16];
    snprintf(text, sizeof text, "key%06d", i * 7919 % 1000);
    return text;
}

int main()
{
    std::unique_ptr<leveldb::Env> env(leveldb::NewMemEnv(leveldb::Env::Default()));
    std::unique_ptr<const leveldb::FilterPolicy> filter(leveldb::NewBloomFilterPolicy(10));
    std::unique_ptr<leveldb::Cache> cache(leveldb::NewLRUCache(1 << 16));
    leveldb::Options options;
    options.create_if_missing = true;
    options.env = env.get();
    options.filter_policy = filter.get();
    options.block_cache = cache.get();
    options.compression = leveldb::kNoCompression;
    for (int round = 0; round < 2; round++) { // the second reads the log of the first
        leveldb::DB *opened = nullptr;
        if (!leveldb::DB::Open(options, "/db", &opened).ok())
            return 1;
        std::unique_ptr<leveldb::DB> db(opened);
        leveldb::WriteBatch batch;
        for (int i = 0; i < 300; i++) {
            batch.Put(key_of(i), std::string(100, 'a' + i % 26));
            if (i % 10 == 9) {
                batch.Delete(key_of(i - 5));
                db->Write(leveldb::WriteOptions(), &batch);
                batch.Clear();
            }
        }
        const leveldb::Snapshot *snapshot = db->GetSnapshot();
        db->Put(leveldb::WriteOptions(), "key000001", "another");
        std::string value;
        leveldb::ReadOptions reading;
        reading.snapshot = snapshot;
        db->Get(reading, "key000001", &value);
        db->Get(leveldb::ReadOptions(), "missing", &value);
        db->ReleaseSnapshot(snapshot);
        db->CompactRange(nullptr, nullptr);
        std::unique_ptr<leveldb::Iterator> at(db->NewIterator(leveldb::ReadOptions()));
        for (at->SeekToLast(); at->Valid(); at->Prev())
            value = at->value().ToString();
        at->Seek("key000500");
        leveldb::Range range("a", "z");
        uint64_t size;
        db->GetApproximateSizes(&range, 1, &size);
        db->GetProperty("leveldb.stats", &value);
        for (int i = 0; i < 20; i++)
            db->Get(leveldb::ReadOptions(), key_of(i), &value);
    }
    leveldb::DestroyDB("/db", options);
}
