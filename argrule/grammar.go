package argrule

import (
	"errors"
	"net/netip"
	"net/url"
	"path"
	"regexp"
	"slices"
	"strings"
	"sync"

	"k8s.io/apimachinery/pkg/api/validate/content"
)

// errUnlike is the fault of a text about which the rule has no more to say.
var errUnlike = errors.New("the text is unlike what is wanted")

// fits makes a rule of a predicate.
func fits(want string, is func(string) bool) rule {
	return rule{want, func(s string) error {
		if is(s) {
			return nil
		}
		return errUnlike
	}}
}

// matches makes a rule of a pattern, which is compiled when it is needed: agents start often.
func matches(want, pattern string) rule {
	re := sync.OnceValue(func() *regexp.Regexp { return regexp.MustCompile(pattern) })
	return fits(want, func(s string) bool { return re().MatchString(s) })
}

func compiled(want string) rule {
	return rule{want, func(s string) error { _, err := regexp.Compile(s); return err }}
}

func absolute(s string) bool { return path.IsAbs(s) && !strings.ContainsAny(s, "\n\x00") }

func isGlob(s string) bool { _, err := path.Match(s, ""); return err == nil }

func isBelowGlob(s string) bool {
	return isGlob(s) && !path.IsAbs(s) && !slices.Contains(strings.Split(s, "/"), "..")
}

func isURL(s string, schemes ...string) bool {
	u, err := url.Parse(s)
	return err == nil && slices.Contains(schemes, u.Scheme) && u.Host != ""
}

var octal = regexp.MustCompile(`^[0-7]{1,5}$`)

// isMode reports whether a text is a mode of up to 12 bits in octal digits.
func isMode(s string) bool { return octal.MatchString(s) && (len(s) < 5 || s[0] == '0') }

// hostLabels matches a DNS name of RFC 1123 in lower case, which the kubelet requires.
var hostLabels = regexp.MustCompile(`^[a-z0-9]([a-z0-9-]{0,61}[a-z0-9])?(\.[a-z0-9]([a-z0-9-]{0,61}[a-z0-9])?)*$`)

func isHostname(s string) bool { return len(s) <= 253 && hostLabels.MatchString(s) }

// looseName matches a DNS name in any case, also with underscores, as /etc/hosts may have it.
var looseName = regexp.MustCompile(`^[A-Za-z0-9_]([A-Za-z0-9_-]*[A-Za-z0-9_])?(\.[A-Za-z0-9_]([A-Za-z0-9_-]*[A-Za-z0-9_])?)*\.?$`)

func isHost(s string) bool {
	_, err := netip.ParseAddr(s)
	return err == nil || len(s) <= 254 && looseName.MatchString(s)
}

// arePrefixes reports whether a text is a list of ranges, as the flags of Kubernetes have it.
func arePrefixes(s string) bool {
	for part := range strings.SplitSeq(s, ",") {
		if _, err := netip.ParsePrefix(part); err != nil {
			return false
		}
	}
	return true
}

func nodeFault(s string) error     { return kubernetesFault(content.IsDNS1123Subdomain(s)) }
func labelKeyFault(s string) error { return kubernetesFault(content.IsLabelKey(s)) }
func labelFault(s string) error    { return kubernetesFault(content.IsLabelValue(s)) }

// objectFault permits namespace/name; names of workloads are DNS names of one or more parts.
func objectFault(s string) error {
	namespace, name, ok := strings.Cut(s, "/")
	if !ok {
		return errUnlike
	}
	return kubernetesFault(append(content.IsDNS1123Label(namespace), content.IsDNS1123Subdomain(name)...))
}

// kubernetesFault makes an error of the messages of Kubernetes' validation.
func kubernetesFault(messages []string) error {
	if len(messages) == 0 {
		return nil
	}
	return errors.New(messages[0])
}
