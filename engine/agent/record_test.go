package agent

import (
	"bytes"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"deployer/engine/agent/statedir"
	"deployer/engine/lock"
	"deployer/engine/protocol"
)

// TestRecord checks that a host stores a record for its owner only, appends at its end
// and nowhere else, returns it in parts, and lists it with the holder of the run lock.
func TestRecord(t *testing.T) {
	b := newTestHost(t, nil)
	whole := bytes.Repeat([]byte("0123456789abcdef"), 10<<10) // more than one part
	first, second := whole[:protocol.RecordPart], whole[protocol.RecordPart:]
	for _, step := range []struct {
		offset int64
		data   []byte
		size   int64
	}{{0, nil, 0}, {5, []byte("hole"), 0}, {0, first, int64(len(first))}, {0, first, int64(len(first))}, {int64(len(first)), second, int64(len(whole))}, {0, nil, int64(len(whole))}} {
		size, err := b.AppendRecord(t.Context(), "r1", step.offset, step.data)
		if err != nil || size != step.size {
			t.Fatalf("append at %d: %d, %v, want %d", step.offset, size, err, step.size)
		}
	}
	path := filepath.Join(b.root, DefaultStateDir, "runs", "r1", statedir.RecordFile)
	for file, want := range map[string]os.FileMode{path: 0o600, filepath.Dir(path): 0o700} {
		if info, err := os.Stat(file); err != nil || info.Mode().Perm() != want {
			t.Errorf("%s: %v, %v", file, info, err)
		}
	}
	var got []byte
	for {
		part, size, err := b.ReadRecord(t.Context(), "r1", int64(len(got)))
		if err != nil || size != int64(len(whole)) {
			t.Fatalf("%d, %v", size, err)
		}
		if len(part) == 0 {
			break
		}
		got = append(got, part...)
	}
	if !bytes.Equal(got, whole) {
		t.Errorf("%d bytes came back, want %d", len(got), len(whole))
	}

	list, holder, err := b.ListRecords(t.Context())
	if err != nil || len(list) != 1 || list[0].Run != "r1" || list[0].Size != int64(len(whole)) || holder != nil {
		t.Errorf("%+v, %v, %v", list, holder, err)
	}
	other := newBenchAt(t, b.root, nil)
	if err := other.Lock(t.Context(), lock.Holder{Run: "r2", By: "ann@ci", Since: time.Now()}); err != nil {
		t.Fatal(err)
	}
	for _, s := range []*testHost{b, other} {
		if _, holder, err = s.ListRecords(t.Context()); err != nil || holder == nil || holder.Run != "r2" {
			t.Errorf("the holder is %+v, %v", holder, err)
		}
	}
	if err := b.Lock(t.Context(), lock.Holder{Run: "r3", By: "bob"}); err == nil || !strings.Contains(err.Error(), "run r2") {
		t.Errorf("listing has taken the lock away: %v", err)
	}
}

// TestRecordIsRefused checks the errors for invalid run names, missing records and
// full records, and that a failed write leaves none of its data.
func TestRecordIsRefused(t *testing.T) {
	b := newTestHost(t, nil)
	for _, run := range []string{"", "..", "../r1", "a/b", ".hidden"} {
		if _, err := b.AppendRecord(t.Context(), run, 0, []byte("x")); err == nil || !strings.Contains(err.Error(), "is not the name of a run") {
			t.Errorf("append to %q: %v", run, err)
		}
		if _, _, err := b.ReadRecord(t.Context(), run, 0); err == nil {
			t.Errorf("%q was read", run)
		}
	}
	if _, _, err := b.ReadRecord(t.Context(), "r9", 0); err == nil || !strings.Contains(err.Error(), "no such file") {
		t.Errorf("a record that is not there: %v", err)
	}
	if _, err := b.AppendRecord(t.Context(), "r1", 0, []byte("x")); err != nil {
		t.Fatal(err)
	}
	path := filepath.Join(b.root, DefaultStateDir, "runs", "r1", statedir.RecordFile)
	if err := os.Truncate(path, statedir.MaxRecordSize); err != nil {
		t.Fatal(err)
	}
	if size, err := b.AppendRecord(t.Context(), "r1", statedir.MaxRecordSize, []byte("x")); err == nil || size != statedir.MaxRecordSize || !strings.Contains(err.Error(), "is full") {
		t.Errorf("%d, %v", size, err)
	}
	if part, size, err := b.ReadRecord(t.Context(), "r1", 2*statedir.MaxRecordSize); len(part) != 0 || size != statedir.MaxRecordSize || err != nil {
		t.Errorf("behind the end: %d bytes of %d, %v", len(part), size, err)
	}
}

// TestRecordsAreRemovedWithTheirRuns checks that a host that only keeps records removes
// the oldest ones.
func TestRecordsAreRemovedWithTheirRuns(t *testing.T) {
	const maxRuns = 20 // without backups; see package undo
	b := newTestHost(t, nil)
	runs := filepath.Join(b.root, DefaultStateDir, "runs")
	for i := range maxRuns + 3 {
		name := "r" + string(rune('a'+i))
		if _, err := b.AppendRecord(t.Context(), name, 0, []byte("x")); err != nil {
			t.Fatal(err)
		}
		at := time.Now().Add(time.Duration(i-100) * time.Minute)
		if err := os.Chtimes(filepath.Join(runs, name), at, at); err != nil {
			t.Fatal(err)
		}
	}
	list, _, err := b.ListRecords(t.Context())
	if err != nil || len(list) > maxRuns+1 {
		t.Fatalf("%d records, %v", len(list), err)
	}
	if last := list[0].Run; last != "r"+string(rune('a'+maxRuns+2)) {
		t.Errorf("the newest is %s", last)
	}
}
