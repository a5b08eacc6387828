package etcddata

import (
	"bytes"
	"encoding/binary"
	"errors"
	"fmt"
	"hash/fnv"
	"io"
)

// The file format of bbolt (go.etcd.io/bbolt v1.4, internal/common/{page,meta,inode}.go),
// which is that of the machine's byte order. All platforms of the agent are little-endian.
const (
	pageHeader = 16 // id uint64, flags uint16, count uint16, overflow uint32
	element    = 16 // of a branch: pos uint32, ksize uint32, pgid uint64; of a leaf: flags, pos, ksize, vsize uint32

	branchPage, leafPage = 0x01, 0x02

	metaMagic   = 0xED0CDAED
	metaVersion = 2
	metaBytes   = 64 // magic, version, page size, flags, root bucket (16), freelist, pgid, txid, checksum

	bucketHeader = 16 // pgid of the root page, 0 for a page within the value; sequence

	maxPageSize = 64 << 10
	maxOverflow = 1 << 16 // pages behind the first one: a value of etcd has at most some MiB
	maxDepth    = 64
	tries       = 100
)

// keyBucket has the values of all keys by revision (etcd server/storage/schema/bucket.go).
var keyBucket = []byte("key")

// A revision is 8 bytes, '_', 8 bytes, and 't' for a deletion (etcd
// server/storage/mvcc/revision.go).
const revisionBytes = 8 + 1 + 8

// boltFile is a database of bbolt that another process may write.
type boltFile struct {
	io.ReaderAt
	pageSize int64
}

// meta is the result of the last written transaction.
type meta struct{ root, txid uint64 }

// lastRevision returns the highest revision in a database of etcd, 0 without keys.
//
// bbolt never overwrites the pages of a committed transaction before the next but
// one. The pages that were read are therefore consistent when the transaction is
// still the last one afterwards.
func lastRevision(file io.ReaderAt) (int64, error) {
	var revision int64
	var failed error
	for range tries {
		b := &boltFile{ReaderAt: file}
		before, err := b.lastMeta()
		if err != nil {
			return 0, err
		}
		revision, failed = b.lastKey(before.root)
		after, err := b.lastMeta()
		if err != nil {
			return 0, err
		}
		if before == after {
			return revision, failed
		}
	}
	return 0, errors.New("it was written during each attempt to read it")
}

// lastMeta returns the newer of the two meta pages that are whole, and sets the page size.
func (b *boltFile) lastMeta() (meta, error) {
	var last meta
	found := false
	// The second page is at the page size, which the first one states. Where that is damaged,
	// each size is tried.
	offsets := []int64{0}
	for size := int64(1 << 10); size <= maxPageSize; size *= 2 {
		offsets = append(offsets, size)
	}
	for _, at := range offsets {
		raw := make([]byte, pageHeader+metaBytes)
		if _, err := b.ReadAt(raw, at); err != nil {
			break // the file is shorter
		}
		raw = raw[pageHeader:]
		size := int64(binary.LittleEndian.Uint32(raw[8:]))
		sum := fnv.New64a()
		_, _ = sum.Write(raw[:metaBytes-8])
		if binary.LittleEndian.Uint32(raw) != metaMagic || binary.LittleEndian.Uint32(raw[4:]) != metaVersion ||
			sum.Sum64() != binary.LittleEndian.Uint64(raw[metaBytes-8:]) || at != 0 && at != size || size <= 0 || size > maxPageSize {
			continue
		}
		m := meta{root: binary.LittleEndian.Uint64(raw[16:]), txid: binary.LittleEndian.Uint64(raw[48:])}
		if !found || m.txid > last.txid {
			last, found, b.pageSize = m, true, size
		}
	}
	if !found {
		return meta{}, errors.New("it is no database of bbolt, or its first pages are damaged")
	}
	return last, nil
}

// page reads a page with its overflow.
func (b *boltFile) page(id uint64) ([]byte, error) {
	if id > 1<<40 {
		return nil, fmt.Errorf("page %d is out of range", id)
	}
	head := make([]byte, pageHeader)
	at := int64(id) * b.pageSize //nolint:gosec // bounded above
	if _, err := b.ReadAt(head, at); err != nil {
		return nil, fmt.Errorf("reading page %d: %w", id, err)
	}
	overflow := int64(binary.LittleEndian.Uint32(head[12:]))
	if binary.LittleEndian.Uint64(head) != id || overflow > maxOverflow {
		return nil, fmt.Errorf("page %d is damaged", id)
	}
	page := make([]byte, (1+overflow)*b.pageSize)
	if _, err := b.ReadAt(page, at); err != nil {
		return nil, fmt.Errorf("reading page %d: %w", id, err)
	}
	return page, nil
}

// lastKey returns the revision of the last key in the bucket of keys.
func (b *boltFile) lastKey(root uint64) (int64, error) {
	value, err := b.bucket(root)
	if err != nil || value == nil {
		return 0, err
	}
	var page []byte
	if first := binary.LittleEndian.Uint64(value); first == 0 {
		page = value[bucketHeader:]
	} else if page, err = b.page(first); err != nil {
		return 0, err
	}
	page, err = b.descend(page, func(_ []byte, count int) int { return count - 1 })
	if err != nil {
		return 0, err
	}
	count := int(binary.LittleEndian.Uint16(page[10:]))
	if count == 0 {
		return 0, nil
	}
	key, _, err := leafElement(page, count-1)
	if err != nil {
		return 0, err
	}
	if len(key) < revisionBytes || key[8] != '_' {
		return 0, errors.New("a key of its newest page is no revision")
	}
	revision := int64(binary.BigEndian.Uint64(key)) //nolint:gosec // checked below
	if revision < 0 {
		return 0, errors.New("its newest revision is negative")
	}
	return revision, nil
}

// bucket returns the value of the bucket of keys: its header and, in a small one, its page.
// nil means that there is none.
func (b *boltFile) bucket(root uint64) ([]byte, error) {
	page, err := b.page(root)
	if err != nil {
		return nil, err
	}
	// The last element whose first key is not behind the wanted one.
	page, err = b.descend(page, func(page []byte, count int) int {
		i := 0
		for i+1 < count {
			key, _, err := branchElement(page, i+1)
			if err != nil || bytes.Compare(key, keyBucket) > 0 {
				break
			}
			i++
		}
		return i
	})
	if err != nil {
		return nil, err
	}
	for i := range int(binary.LittleEndian.Uint16(page[10:])) {
		key, value, err := leafElement(page, i)
		if err != nil {
			return nil, err
		}
		if bytes.Equal(key, keyBucket) {
			if len(value) < bucketHeader {
				return nil, errors.New("its bucket of keys is damaged")
			}
			return value, nil
		}
	}
	return nil, nil
}

// descend follows branches from a page to a leaf; choose returns the element to follow.
func (b *boltFile) descend(page []byte, choose func(page []byte, count int) int) ([]byte, error) {
	for range maxDepth {
		if len(page) < pageHeader {
			return nil, errors.New("a page is too short")
		}
		switch binary.LittleEndian.Uint16(page[8:]) {
		case leafPage:
			return page, nil
		case branchPage:
			count := int(binary.LittleEndian.Uint16(page[10:]))
			if count == 0 {
				return nil, errors.New("a branch has no pages")
			}
			_, next, err := branchElement(page, choose(page, count))
			if err != nil {
				return nil, err
			}
			if page, err = b.page(next); err != nil {
				return nil, err
			}
		default:
			return nil, errors.New("a page has another type than the tree of keys")
		}
	}
	return nil, errors.New("its tree of keys has no end")
}

// branchElement returns the first key and the page of an element.
func branchElement(page []byte, i int) (key []byte, id uint64, err error) {
	at := pageHeader + i*element
	if at+element > len(page) {
		return nil, 0, errTornPage
	}
	raw := page[at:]
	key, err = slice(page, at, binary.LittleEndian.Uint32(raw), binary.LittleEndian.Uint32(raw[4:]))
	return key, binary.LittleEndian.Uint64(raw[8:]), err
}

// leafElement returns the key and the value of an element.
func leafElement(page []byte, i int) (key, value []byte, err error) {
	at := pageHeader + i*element
	if at+element > len(page) {
		return nil, nil, errTornPage
	}
	raw := page[at:]
	pos, keySize, valueSize := binary.LittleEndian.Uint32(raw[4:]), binary.LittleEndian.Uint32(raw[8:]), binary.LittleEndian.Uint32(raw[12:])
	if key, err = slice(page, at, pos, keySize); err != nil {
		return nil, nil, err
	}
	value, err = slice(page, at, pos+keySize, valueSize)
	return key, value, err
}

var errTornPage = errors.New("a page of its keys is damaged")

// slice returns size bytes of a page; pos counts from the element at.
func slice(page []byte, at int, pos, size uint32) ([]byte, error) {
	begin := int64(at) + int64(pos)
	if begin+int64(size) > int64(len(page)) {
		return nil, errTornPage
	}
	return page[begin : begin+int64(size)], nil
}
