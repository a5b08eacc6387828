package cluster

import (
	"fmt"
	"net/netip"
)

// CalicoBlocks returns the blocks of Calico, of a prefix length, that make up the range of a node. It
// fails when a block is larger than the range.
func CalicoBlocks(podCIDR string, blockSize int) ([]netip.Prefix, error) {
	r, err := parseCIDR(podCIDR)
	if err != nil {
		return nil, err
	}
	if blockSize < r.Bits() || blockSize > r.Addr().BitLen() {
		return nil, fmt.Errorf("the range %s has no blocks of /%d", r, blockSize)
	}
	var out []netip.Prefix
	for i := range subnetCount(r, blockSize) {
		if block, ok := nthSubnet(r, blockSize, i); ok {
			out = append(out, block)
		}
	}
	return out, nil
}
