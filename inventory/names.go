package inventory

import (
	"fmt"
	"net/netip"
	"regexp"
	"strings"
)

var (
	// hostShape matches RFC 1123 labels in lower case, joined by dots: the node names that
	// Kubernetes accepts (apimachinery, DNS-1123 subdomain).
	hostShape = regexp.MustCompile(`^[a-z0-9]([-a-z0-9]*[a-z0-9])?(\.[a-z0-9]([-a-z0-9]*[a-z0-9])?)*$`)
	// addressShape matches names that are looked up: those of hosts, and names with _, which
	// /etc/hosts and the client configuration of OpenSSH may have.
	addressShape = regexp.MustCompile(`^[a-z0-9_]([-a-z0-9_]*[a-z0-9_])?(\.[a-z0-9_]([-a-z0-9_]*[a-z0-9_])?)*$`)
	groupShape   = regexp.MustCompile(`^[A-Za-z_][A-Za-z0-9_-]*$`)
	labelKey     = regexp.MustCompile(`^([a-z0-9]([-a-z0-9.]*[a-z0-9])?/)?[A-Za-z0-9]([-A-Za-z0-9_.]{0,61}[A-Za-z0-9])?$`)
	labelValue   = regexp.MustCompile(`^([A-Za-z0-9]([-A-Za-z0-9_.]{0,61}[A-Za-z0-9])?)?$`)
	allDigits    = regexp.MustCompile(`(^|\.)[0-9]+$`)
)

func checkHostName(name string) error {
	switch lower := strings.ToLower(name); {
	case len(name) > 253:
		return fmt.Errorf("host name %q is longer than 253 characters", name[:40]+"...")
	case hostShape.MatchString(name):
		for label := range strings.SplitSeq(name, ".") {
			if len(label) > 63 {
				return fmt.Errorf("host name %q has a part longer than 63 characters", name)
			}
		}
		return nil
	case lower != name && hostShape.MatchString(lower):
		return fmt.Errorf("host name %q must be lower case: %q", name, lower)
	case hostShape.MatchString(strings.ReplaceAll(lower, "_", "-")):
		return fmt.Errorf("host name %q must not contain _; use %q", name, strings.ReplaceAll(lower, "_", "-"))
	}
	return fmt.Errorf("host name %q may only have lower case letters, digits, dashes and dots", name)
}

// checkAddress checks the IP address or name that a key gives a host.
func checkAddress(key, address string) error {
	if _, err := netip.ParseAddr(address); err == nil {
		return nil
	}
	if ap, err := netip.ParseAddrPort(address); err == nil {
		if key == "address" { // of IPv6, whose brackets are those of ranges, too
			return fmt.Errorf("address %q contains a port; write address: %s and ssh: {port: %d}", address, ap.Addr(), ap.Port())
		}
		return fmt.Errorf("%s %q contains a port; write the address alone", key, address)
	}
	if _, err := netip.ParsePrefix(address); err == nil {
		return fmt.Errorf("%s %q contains a prefix length; write the address alone", key, address)
	}
	lower := strings.ToLower(strings.TrimSuffix(address, "."))
	if len(lower) > 253 || !addressShape.MatchString(lower) || allDigits.MatchString(lower) {
		return fmt.Errorf("%s %q is neither an IP address nor a name", key, address)
	}
	return nil
}

// checkNodeAddress checks the address of a node, which the cluster's components take as an IP
// address only, or one of each family, separated by a comma.
func checkNodeAddress(list string) error {
	families := map[bool]bool{}
	for address := range strings.SplitSeq(list, ",") {
		if err := checkAddress("node_address", address); err != nil {
			return err
		}
		a, err := netip.ParseAddr(address)
		if err != nil {
			return fmt.Errorf("node_address %q is a name; write the IP address that the host has on the network of the nodes", address)
		}
		is4 := a.Unmap().Is4()
		if families[is4] {
			return fmt.Errorf("node_address %s has two addresses of one family; write one address, or one of IPv4 and one of IPv6", list)
		}
		families[is4] = true
	}
	return nil
}

// sameAddress returns one text for all spellings of an address.
func sameAddress(address string) string {
	if a, err := netip.ParseAddr(address); err == nil {
		return a.Unmap().String()
	}
	return strings.ToLower(strings.TrimSuffix(address, "."))
}
