// Package argrule has the rules of texts with a grammar: modes, paths, owners, regular
// expressions and the like. A field of a document's type names its rule in the tag rule, and
// that of the keys of a mapping in the tag keys; strictyaml checks the value when it decodes
// it, so that a wrong value is an error before any host is contacted, and the reference shows
// what is wanted. [Number] says what a number means where a text is wanted. The package is
// pure and imports no sibling.
package argrule

import (
	"errors"
	"fmt"
	"io/fs"
	"maps"
	"net/netip"
	"slices"
	"strings"
	"time"
)

// rule is the grammar of a text.
type rule struct {
	want string // for messages and the reference, as in "want an absolute path"
	// fault returns why a text does not fit, unlike when want says it already, and nil when
	// it fits.
	fault func(text string) error
}

// Rules of texts without a grammar, of texts that the method Valid of their type checks, and
// of texts in one line, which the reference calls texts.
const (
	freeText = "text"
	ownRule  = "own"
	oneLine  = "line"
)

// rules are all rules by name.
var rules = map[string]rule{
	freeText: {"any text", func(string) error { return nil }},
	ownRule:  {"a text that its module checks", func(string) error { return nil }},
	oneLine:  fits("a text in one line", func(s string) bool { return !strings.ContainsAny(s, "\n\r\x00") }),
	"word":   matches("a word without blanks", `^\S+$`),

	"path":        fits("an absolute path such as /etc/motd", absolute),
	"below":       fits("a relative path that does not lead upwards, such as conf.d/a", func(s string) bool { return fs.ValidPath(s) && s != "." }),
	"filename":    matches("a file name, or a part of one, of letters, digits, dots, dashes and underscores", `^[A-Za-z0-9_.-]+$`),
	"cronfile":    matches("a file name of letters, digits, dashes and underscores, as cron ignores others", `^[A-Za-z0-9_-]+$`), // run-parts(8)
	"glob":        fits("a pattern such as *.conf", isGlob),
	"below-glob":  fits("a pattern below the directory, such as *.yaml or */hosts.toml", isBelowGlob),
	"mode":        fits(`an octal mode such as "0644"`, isMode),
	"preserve":    fits(`an octal mode such as "0644", or preserve`, func(s string) bool { return s == "preserve" || isMode(s) }),
	"owner":       matches("a name or number of a user or group", `^[^-\s:/,][^\s:/,]*$`),
	"owners":      matches("names or numbers of users or groups, separated by commas", `^[^-\s:/,][^\s:/,]*( *, *[^-\s:/,][^\s:/,]*)*$`),
	"account":     matches("a name of lower case letters, digits, dashes and underscores, at most 32, that begins with a letter or _", `^[a-z_][a-z0-9_-]{0,31}$`), // useradd(8), on every distribution
	"colonless":   matches("a text without colons and line ends", `^[^:\n\r\x00]*$`),                                                                               // passwd(5)
	"sha256":      matches("a SHA-256 of 64 hexadecimal digits", `^[0-9a-fA-F]{64}$`),
	"regexp":      compiled("a regular expression in Go's syntax"),
	"position":    compiled("a regular expression in Go's syntax, BOF or EOF"),
	"marker":      fits("one line with {mark} in it", func(s string) bool { return strings.Contains(s, "{mark}") && !strings.ContainsAny(s, "\r\n") }),
	"variable":    matches("the name of a variable", `^[A-Za-z_][A-Za-z0-9_]*$`),
	"environment": matches("the name of an environment variable", `^[^=\s\x00]+$`), // environ(7)

	"url":        fits("a URL that begins with http:// or https://", func(s string) bool { return isURL(s, "http", "https") }),
	"proxy":      fits("the URL of a proxy, such as http://proxy:3128", func(s string) bool { return isURL(s, "http", "https", "socks5", "socks5h") }),
	"uri":        matches("a URL with its scheme, such as https://", `^[A-Za-z][A-Za-z0-9+.-]*:\S+$`),
	"repository": matches("the address of a git repository", `^[^-\s\x00-\x1f][^\x00-\x1f]*$`),
	"revision":   matches("a branch, tag or commit", `^[^-\s~^:?*\[\\][^\s~^:?*\[\\]*$`), // git-check-ref-format(1)
	"address":    fits("an IP address", func(s string) bool { _, err := netip.ParseAddr(s); return err == nil }),
	"prefix":     fits("a range of addresses such as 10.0.0.0/16", func(s string) bool { _, err := netip.ParsePrefix(s); return err == nil }),
	"prefixes":   fits("ranges of addresses separated by commas, such as 10.0.0.0/16,fd00::/56", arePrefixes),
	"endpoint":   fits("an IP address with a port, such as 10.0.0.1:6443", func(s string) bool { _, err := netip.ParseAddrPort(s); return err == nil }),
	"hostname":   fits("a host name of lower case letters, digits, dashes and dots, with at most 63 characters in each part", isHostname),
	"host":       fits("a host name or an IP address", isHost),
	"token":      matches("a name of HTTP, such as GET or Content-Type", "^[!#$%&'*+.^_`|~0-9A-Za-z-]+$"), // RFC 9110, 5.6.2

	"package":   matches("a package such as nginx, nginx=1.2, a|b, /path/a.deb or *", `^(/.*|\*|`+packageName+`(\|`+packageName+`)*(=[A-Za-z0-9.+:~^_*-]+)?)$`),
	"version":   matches("a version", `^\S+$`),
	"unit":      matches("the name of a systemd unit", `^[A-Za-z0-9:_.\\@-]+$`),
	"directive": matches("a key of a configuration file, such as MemoryMax", `^[A-Za-z][A-Za-z0-9_-]*$`),
	"module":    matches("the name of a kernel module, such as br_netfilter", `^[A-Za-z0-9_-]+$`),
	"sysctl":    matches("the name of a kernel setting, such as net.ipv4.ip_forward", `^[A-Za-z0-9_@:+-]+([./][A-Za-z0-9_@:+-]+)+$`),
	"zone":      matches("a time zone such as Europe/Berlin or UTC", `^[A-Za-z0-9+_-]+(/[A-Za-z0-9+_-]+)*$`),
	"time":      fits("a time such as 2026-11-23T07:00:00Z", func(s string) bool { _, err := time.Parse(time.RFC3339, s); return err == nil }),
	"calendar":  {"a time of systemd.time(7), such as daily or Mon..Fri 03:00", calendarFault},
	"minute":    cronField(timeField{low: 0, high: 59}, "minutes of crontab(5), such as 0, */5 or 1,31"),
	"hour":      cronField(timeField{low: 0, high: 23}, "hours of crontab(5), such as 4 or 8-18"),
	"monthday":  cronField(timeField{low: 1, high: 31}, "days of the month of crontab(5), such as 1 or */2"),
	"month":     cronField(timeField{1, 12, []string{"jan", "feb", "mar", "apr", "may", "jun", "jul", "aug", "sep", "oct", "nov", "dec"}}, "months of crontab(5), such as 1 or jan-mar"),
	"weekday":   cronField(timeField{0, 7, []string{"sun", "mon", "tue", "wed", "thu", "fri", "sat"}}, "weekdays of crontab(5), such as 1-5 or sun"),

	"node":      {"the name of a node: lower case letters, digits, dashes and dots, at most 253", nodeFault},
	"label-key": {"the key of a label, such as example.org/zone", labelKeyFault},
	"label":     {"the value of a label: letters, digits, dashes, underscores and dots, at most 63", labelFault},
	"object":    {"an object as namespace/name", objectFault},
	"image":     matches("an image such as registry.example.org/app:1.2", imagePattern),
}

const (
	packageName = `[A-Za-z0-9][A-Za-z0-9.+_:-]*`
	// imagePattern is the grammar of references of the distribution specification.
	imagePattern = `^((\[[0-9A-Fa-f:]+\]|[A-Za-z0-9.-]+)(:[0-9]+)?/)?[a-z0-9]+((\.|_|__|-+)[a-z0-9]+)*(/[a-z0-9]+((\.|_|__|-+)[a-z0-9]+)*)*(:[A-Za-z0-9_][A-Za-z0-9_.-]{0,127})?(@[a-z0-9]+:[0-9a-f]{32,})?$`
)

// closedSet begins the rule of a text that is one of some words, as in in:present,absent.
const closedSet = "in:"

// Names returns the names of all rules, sorted.
func Names() []string { return slices.Sorted(maps.Keys(rules)) }

// Choices returns the words of a closed set; nil for another rule.
func Choices(name string) []string {
	set, closed := strings.CutPrefix(name, closedSet)
	if !closed {
		return nil
	}
	return strings.Split(set, ",")
}

// Want says what a rule permits, for the reference; empty for texts without a grammar that
// strictyaml checks, and for closed sets, which have [Choices].
func Want(name string) string {
	if name == freeText || name == ownRule || name == oneLine {
		return ""
	}
	return rules[name].want
}

// Fault is the error of a text that does not follow its rule. It does not have the text, which
// may be a secret.
type Fault struct {
	Want   string // what the rule permits
	Reason error  // why the text does not fit; nil when Want says it
}

func (f *Fault) Error() string {
	if f.Reason == nil {
		return "want " + f.Want
	}
	return fmt.Sprintf("want %s: %v", f.Want, f.Reason)
}

// Unwrap returns the reason.
func (f *Fault) Unwrap() error { return f.Reason }

// Check returns a *Fault when a text does not follow the rule, which must exist. Every rule
// permits the empty text, which stands for none.
func Check(name, text string) error {
	if words := Choices(name); words != nil {
		if text != "" && !slices.Contains(words, text) {
			return &Fault{Want: "one of " + strings.Join(words, ", ")}
		}
		return nil
	}
	r, ok := rules[name]
	if !ok {
		return fmt.Errorf("there is no rule %q", name)
	}
	if text == "" {
		return nil
	}
	err := r.fault(text)
	switch {
	case err == nil:
		return nil
	case errors.Is(err, errUnlike):
		return &Fault{Want: r.want}
	}
	return &Fault{r.want, err}
}
