package cluster

import (
	"fmt"
	"math"
)

// EtcdRevisionMargin is the distance between the highest known revision and that of
// restored data. EtcdRevisionMargin covers the writes between the reading of the
// known revision and the end of the last API server, or since a snapshot when nothing
// but the snapshot is known. The number is that of etcd's documentation (Disaster
// recovery, Restoring with revision bump) and of OpenShift's cluster-etcd-operator:
// at 10,000 writes a second it lasts a day.
const EtcdRevisionMargin = 1_000_000_000

// EtcdRevisionBump returns the number by which a restore raises the revision of a snapshot,
// so that the result is [EtcdRevisionMargin] above every revision that clients can have seen.
// Otherwise a watch of a controller or kubelet waits for a revision that it has seen already,
// and misses the events until then (kubernetes #118501). served are the revisions of the
// members' data, in use or kept by an earlier restore; 0 for members without data.
//
// The result is at least EtcdRevisionMargin. An error says that etcd cannot count that far.
func EtcdRevisionBump(snapshot int64, served []int64) (int64, error) {
	highest := snapshot
	for _, r := range append([]int64{snapshot}, served...) {
		if r < 0 {
			return 0, fmt.Errorf("the revision %d of etcd is negative", r)
		}
		highest = max(highest, r)
	}
	if highest > math.MaxInt64-EtcdRevisionMargin {
		return 0, fmt.Errorf("the revision %d of etcd cannot be raised by %d: it would exceed %d", highest, int64(EtcdRevisionMargin), int64(math.MaxInt64))
	}
	return highest - snapshot + EtcdRevisionMargin, nil
}

// EtcdResumedBump returns the number by which a resumed restore raises the revision, which is
// the one that it has recorded: members whose data differs are no cluster. served are the
// revisions of the data that the restore has not replaced yet. EtcdResumedBump fails when these have
// reached the revision of the restored data meanwhile.
func EtcdResumedBump(snapshot, recorded int64, served []int64) (int64, error) {
	if recorded < EtcdRevisionMargin || snapshot < 0 || snapshot > math.MaxInt64-recorded {
		return 0, fmt.Errorf("the restore has recorded that it raises the revision %d of the snapshot by %d, which is not possible: begin another restore", snapshot, recorded)
	}
	for _, r := range served {
		if r >= snapshot+recorded {
			return 0, fmt.Errorf("etcd has reached the revision %d since this restore has prepared data with the revision %d: begin another restore", r, snapshot+recorded)
		}
	}
	return recorded, nil
}
