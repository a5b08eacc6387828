package build

import (
	"errors"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

func TestParseStanza(t *testing.T) {
	got := parseStanza([]byte(`Package: nginx
Version: 1.22.1-9+deb12u10
Architecture: amd64
Provides: httpd, httpd-cgi, nginx-abi-1.22.1-7
Depends: libc6 (>= 2.34), libssl3 (>= 3.0.0), default-mta | mail-transport-agent, nginx-common (<< 1.22.1~), perl:any
Pre-Depends: dpkg (>= 1.17.14)
Description: small, powerful, scalable web/proxy server
 Nginx: a server
SHA256: cc7a`))
	want := deb{
		Name: "nginx", Version: "1.22.1-9+deb12u10", Arch: "amd64", SHA256: "cc7a",
		Depends:  []string{"libc6", "libssl3", "default-mta", "nginx-common", "perl", "dpkg"},
		Provides: []string{"httpd", "httpd-cgi", "nginx-abi-1.22.1-7"},
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Error(diff)
	}
}

func TestClosure(t *testing.T) {
	packages := map[string]deb{
		"nginx":  {Depends: []string{"libc6", "common", "dpkg"}, Provides: []string{"nginx-abi"}},
		"stream": {Depends: []string{"nginx-abi", "libc6"}},
		"common": {Depends: []string{"nginx", "debconf"}}, // a circle
		"libc6":  {Depends: []string{"libgcc"}},
		"libgcc": {},
		"dpkg":   {Depends: []string{"tar"}}, // left out, and so is what it needs
		"broken": {Depends: []string{"gone"}},
		"base":   {Depends: []string{"awk"}}, // which no package is
		"mawk":   {Provides: []string{"awk"}},
	}
	show := func(names []string) (map[string]deb, error) {
		answer := map[string]deb{}
		for _, name := range names {
			if d, ok := packages[name]; ok {
				d.Name = name
				answer[name] = d
			}
		}
		return answer, nil
	}
	got, err := closure([]string{"nginx", "stream"}, show)
	if err != nil {
		t.Fatal(err)
	}
	var names []string
	for _, d := range got {
		names = append(names, d.Name)
	}
	if want := []string{"common", "libc6", "libgcc", "nginx", "stream"}; !slices.Equal(names, want) {
		t.Errorf("closure is %q, want %q", names, want)
	}
	if got, err = closure([]string{"base"}, show); err != nil || len(got) != 2 || got[1].Name != "mawk" {
		t.Errorf("closure of a package that needs a virtual one: %v, %v", got, err)
	}
	if _, err := closure([]string{"broken"}, show); err == nil || !strings.Contains(err.Error(), "no Debian package gone") {
		t.Errorf("error is %v", err)
	}
	failing := errors.New("apt is broken")
	if _, err := closure([]string{"x"}, func([]string) (map[string]deb, error) { return nil, failing }); !errors.Is(err, failing) {
		t.Errorf("error is %v", err)
	}
}

func TestDebianVersion(t *testing.T) {
	for version, want := range map[string]string{
		"1.22.1-9+deb12u10": "1.22.1-9.deb12u10",
		"1:1.4.7-1+b2":      "1.4.7-1.b2",
		"3.0.22-1~deb12u2":  "3.0.22-1.deb12u2",
	} {
		if got := debianVersion(deb{Version: version}); got != want {
			t.Errorf("%s becomes %s, want %s", version, got, want)
		}
	}
}
