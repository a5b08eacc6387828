package calico

import (
	"crypto/sha3"
	"encoding/base32"
	"net/netip"
)

// affinityOfNodes is the type of the affinity of a block to a node; others are to load balancers.
const affinityOfNodes = "host"

// affinityTypeLabel is the label with the type of an affinity.
const affinityTypeLabel = "projectcalico.org/affinity-type"

// affinityLabels returns the labels by which Calico finds the affinities of a node since v3.31
// (libcalico-go lib/backend/model/block_affinity.go). Older versions ignore them. calico-node adds them at
// its start to an affinity that has none, with the type that the affinity has.
func affinityLabels(node string, block netip.Prefix) map[string]string {
	hash := sha3.Sum256([]byte(node)) // a name may be longer than a label
	family := "4"
	if block.Addr().Is6() {
		family = "6"
	}
	return map[string]string{
		"projectcalico.org/hostname-hash": base32.StdEncoding.WithPadding(base32.NoPadding).EncodeToString(hash[:]),
		"projectcalico.org/ip-version":    family,
		affinityTypeLabel:                 affinityOfNodes,
	}
}
