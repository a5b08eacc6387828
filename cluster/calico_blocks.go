package cluster

import (
	"fmt"
	"net/netip"
)

// maxIPv6Blocks is the maximum number of blocks in a range of IPv6 for which a node has a use: 1024
// addresses in blocks of Calico's default size.
const maxIPv6Blocks = 16

// CalicoBlocks returns the blocks of Calico, of a prefix length, that make up the range of a node; in one
// of IPv6, which has very many, the first 16. It fails when a block is larger than the range.
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
		if r.Addr().Is6() && len(out) == maxIPv6Blocks {
			break
		}
		if block, ok := nthSubnet(r, blockSize, i); ok {
			out = append(out, block)
		}
	}
	return out, nil
}
