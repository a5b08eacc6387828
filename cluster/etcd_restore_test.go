package cluster

import (
	"math"
	"math/rand/v2"
	"strings"
	"testing"
)

func TestEtcdRevisionBump(t *testing.T) {
	t.Parallel()
	for name, tt := range map[string]struct {
		snapshot int64
		served   []int64
		want     int64
		wrong    string
	}{
		"nothing is known":                     {5000, nil, EtcdRevisionMargin, ""},
		"members without data":                 {5000, []int64{0, 0}, EtcdRevisionMargin, ""},
		"the snapshot is the newest":           {5000, []int64{4000, 4999}, EtcdRevisionMargin, ""},
		"members have written since":           {5000, []int64{6000, 7000, 6500}, EtcdRevisionMargin + 2000, ""},
		"the same snapshot was restored":       {5000, []int64{1_000_005_300}, 2_000_000_300, ""},
		"a later snapshot was restored":        {5000, []int64{3_000_000_000, 7_000_000_000}, 7_999_995_000, ""},
		"the last revision that can be raised": {0, []int64{math.MaxInt64 - EtcdRevisionMargin}, math.MaxInt64, ""},
		"beyond the numbers of etcd":           {7, []int64{math.MaxInt64 - EtcdRevisionMargin + 1}, 0, "cannot be raised"},
		"a snapshot beyond the numbers":        {math.MaxInt64, nil, 0, "cannot be raised"},
		"a negative snapshot":                  {-1, nil, 0, "negative"},
		"a negative member":                    {1, []int64{3, -2}, 0, "negative"},
	} {
		got, err := EtcdRevisionBump(tt.snapshot, tt.served)
		if got != tt.want || (err != nil) != (tt.wrong != "") || err != nil && !strings.Contains(err.Error(), tt.wrong) {
			t.Errorf("%s: %d, %v; want %d %q", name, got, err, tt.want, tt.wrong)
		}
	}
}

// TestRestoresNeverLowerTheRevision restores old and new snapshots of random histories: each
// restored revision is above all that were served before.
func TestRestoresNeverLowerTheRevision(t *testing.T) {
	t.Parallel()
	for seed := range uint64(300) {
		random := rand.New(rand.NewPCG(seed, 1))
		current, highest := 1+random.Int64N(1_000_000), int64(0)
		snapshots := []int64{current}
		for range 30 {
			current += random.Int64N(50_000_000)
			highest = max(highest, current)
			if random.IntN(3) == 0 {
				snapshots = append(snapshots, current)
				continue
			}
			snapshot := snapshots[random.IntN(len(snapshots))]
			// Members lag, and clients write after the revisions were read.
			known := []int64{current - random.Int64N(1000), 0, current}
			bump, err := EtcdRevisionBump(snapshot, known)
			if err != nil {
				t.Fatal(err)
			}
			current += random.Int64N(EtcdRevisionMargin)
			highest = max(highest, current)
			current = snapshot + bump
			if current <= highest || bump < EtcdRevisionMargin {
				t.Fatalf("seed %d: restored to %d by %d, and %d was served", seed, current, bump, highest)
			}
		}
	}
}

func TestEtcdResumedBump(t *testing.T) {
	t.Parallel()
	for name, tt := range map[string]struct {
		recorded int64
		served   []int64
		want     int64
		wrong    string
	}{
		"nothing has changed":        {EtcdRevisionMargin + 7, []int64{3, 900}, EtcdRevisionMargin + 7, ""},
		"all members are replaced":   {EtcdRevisionMargin, nil, EtcdRevisionMargin, ""},
		"members have come as far":   {EtcdRevisionMargin, []int64{EtcdRevisionMargin + 100}, 0, "begin another restore"},
		"the record is damaged":      {5, nil, 0, "begin another restore"},
		"the record exceeds numbers": {math.MaxInt64, nil, 0, "begin another restore"},
	} {
		got, err := EtcdResumedBump(100, tt.recorded, tt.served)
		if got != tt.want || (err != nil) != (tt.wrong != "") || err != nil && !strings.Contains(err.Error(), tt.wrong) {
			t.Errorf("%s: %d, %v; want %d %q", name, got, err, tt.want, tt.wrong)
		}
	}
}
