package snapshot

import (
	"fmt"
	"strings"

	"deployer/cluster"
)

// Keys of an etcd cluster that has events only: those of events, and the one by which API servers
// agree on compactions (k8s.io/apiserver pkg/storage/etcd3/compact.go).
const (
	eventsPrefix  = "/registry/events/"
	compactionKey = "compact_rev_key"
)

// calicoPrefix is the beginning of all keys of the etcd cluster of Calico.
const calicoPrefix = "/calico/"

// isOfEvents reports whether an etcd cluster of events may have a key.
func isOfEvents(key string) bool {
	return strings.HasPrefix(key, eventsPrefix) || key == compactionKey
}

// Belongs returns nil when an etcd cluster with a name may get this content: the cluster's own must
// have more than events, and those of events and of Calico nothing else, which clients of theirs could
// read and no API server would find. No name (empty) means any.
func (c Content) Belongs(name string) error {
	switch {
	case name == cluster.EtcdCalico && c.Outside != "":
		return fmt.Errorf("the snapshot is none of the etcd cluster of Calico: it has %s; restore it without --calico", c.Outside)
	case name != "" && name != cluster.EtcdCalico && c.Keys > 0 && c.Outside == "":
		return fmt.Errorf("the snapshot has nothing but objects of Calico: restore it with --calico")
	case name == cluster.EtcdEvents && c.Other != "":
		return fmt.Errorf("the snapshot is none of the etcd cluster of events: it has %s; restore it without --events", c.Other)
	case name == cluster.EtcdOwn && c.Keys > 0 && c.Other == "":
		return fmt.Errorf("the snapshot has nothing but events: restore it with --events")
	}
	return nil
}
