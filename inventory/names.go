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
	hostShape  = regexp.MustCompile(`^[a-z0-9]([-a-z0-9]*[a-z0-9])?(\.[a-z0-9]([-a-z0-9]*[a-z0-9])?)*$`)
	groupShape = regexp.MustCompile(`^[A-Za-z_][A-Za-z0-9_-]*$`)
	labelKey   = regexp.MustCompile(`^([a-z0-9]([-a-z0-9.]*[a-z0-9])?/)?[A-Za-z0-9]([-A-Za-z0-9_.]{0,61}[A-Za-z0-9])?$`)
	labelValue = regexp.MustCompile(`^([A-Za-z0-9]([-A-Za-z0-9_.]{0,61}[A-Za-z0-9])?)?$`)
	allDigits  = regexp.MustCompile(`(^|\.)[0-9]+$`)
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

func checkAddress(address string) error {
	if _, err := netip.ParseAddr(address); err == nil {
		return nil
	}
	if ap, err := netip.ParseAddrPort(address); err == nil {
		return fmt.Errorf("address %q contains a port; write address: %s and ssh: {port: %d}", address, ap.Addr(), ap.Port())
	}
	if _, err := netip.ParsePrefix(address); err == nil {
		return fmt.Errorf("address %q contains a prefix length; write the address alone", address)
	}
	lower := strings.ToLower(strings.TrimSuffix(address, "."))
	if len(lower) > 253 || !hostShape.MatchString(lower) || allDigits.MatchString(lower) {
		return fmt.Errorf("address %q is neither an IP address nor a name", address)
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
