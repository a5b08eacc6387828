package compare

import (
	"fmt"
	"slices"

	"deployer/cluster"
	"deployer/shortlist"
)

// datastoreChange returns the conflict of network.calico.datastore with the nodes in use: a node that reads
// another datastore knows no addresses and no policies of the others.
func datastoreChange(want *cluster.Cluster, found InUse) []Conflict {
	wanted := want.Network.Calico.Datastore
	var others []string
	had := ""
	for _, name := range want.Order {
		if has := found.Hosts[name].Datastore; has != "" && wanted != "" && has != wanted {
			others, had = append(others, name), has
		}
	}
	if len(others) == 0 {
		return nil
	}
	return []Conflict{{
		Subject: "network.calico.datastore",
		Detail:  fmt.Sprintf("network.calico.datastore is %s, and nodes have Calico's objects in %s: %s; addresses and policies of pods that run would be lost", wanted, had, shortlist.Names(others, maxNames)),
		Fix:     "restore the setting; another datastore needs a new cluster",
	}}
}

// usesEtcd reports whether Calico has its objects in etcd, by the inventory or on a node in use.
func usesEtcd(want *cluster.Cluster, found InUse) bool {
	return want.EtcdCalico != nil || slices.ContainsFunc(want.Order, func(name string) bool { return found.Hosts[name].Datastore == cluster.DatastoreEtcd })
}
