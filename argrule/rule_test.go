package argrule

import (
	"strings"
	"testing"
)

func TestCheck(t *testing.T) {
	tests := map[string]struct{ good, bad []string }{
		"text":        {good: []string{"a\nb|*"}},
		"own":         {good: []string{"a"}},
		"line":        {[]string{"a b"}, []string{"a\nb", "a\rb"}},
		"word":        {[]string{"a-b"}, []string{"a b", "a\n"}},
		"path":        {[]string{"/etc/x", "/", "/a b"}, []string{"etc/x", "./x", "~/x", "C:/x"}},
		"below":       {[]string{"a", "conf.d/a.conf", "..a"}, []string{"/a", "../a", "a/../b", "a//b", ".", "a/"}},
		"filename":    {[]string{"a.b-c_1"}, []string{"a/b", "a b", "ä"}},
		"cronfile":    {[]string{"a-b_1"}, []string{"a.b", "a/b"}},
		"glob":        {[]string{"*.log", "bin/*", "[a-c]"}, []string{"[", "a\\"}},
		"below-glob":  {[]string{"*", "*/hosts.toml"}, []string{"/etc/*", "../*", "["}},
		"mode":        {[]string{"0644", "644", "4755", "1777", "04755", "0", "7"}, []string{"493", "0o644", "u=rw", "0x1f", "17777", "rw-r--r--", "-644", "preserve"}},
		"preserve":    {[]string{"0644", "preserve"}, []string{"preserved", "88"}},
		"owner":       {[]string{"root", "1000", "www-data", "_apt", "EXAMPLE\\bob", "bob@example.org", "svc$"}, []string{"root:root", "-x", "a b", "a/b", "a,b"}},
		"owners":      {[]string{"sudo", "sudo,adm", "sudo, adm"}, []string{"sudo,", "a b", ",a", "a,,b"}},
		"account":     {[]string{"bob", "_apt", "www-data"}, []string{"Bob", "1a", "a.b", strings.Repeat("a", 33)}},
		"colonless":   {[]string{"Bob B., room 1"}, []string{"a:b", "a\nb"}},
		"sha256":      {[]string{strings.Repeat("a1", 32)}, []string{"abc", strings.Repeat("g", 64)}},
		"regexp":      {[]string{"^a.*$", "(?m)^x"}, []string{"(", "a{2,1}", "[z-a]"}},
		"position":    {[]string{"EOF", "BOF", "^a"}, []string{"("}},
		"marker":      {[]string{"# {mark} of me"}, []string{"# mark", "{mark}\n"}},
		"variable":    {[]string{"etcd_found", "X1"}, []string{"a-b", "1a", "a.b"}},
		"environment": {[]string{"PATH", "a.b", "1"}, []string{"A=B", "a b"}},
		"url":         {[]string{"http://x/y", "https://a:8443"}, []string{"ftp://x", "//x", "x.example", "http:x"}},
		"proxy":       {[]string{"http://p:3128", "socks5://p"}, []string{"p:3128", "ftp://p"}},
		"uri":         {[]string{"https://a/$basearch", "file:/srv/repo", "mirror+https://a"}, []string{"a/b", "https://a b", "https:"}},
		"repository":  {[]string{"https://a/b.git", "git@a:b", "/srv/a b.git"}, []string{"--upload-pack=x", " a", "a\nb"}},
		"revision":    {[]string{"main", "v1.2", "feature/a"}, []string{"-x", "a b", "a..b~1", "a:b"}},
		"address":     {[]string{"10.0.0.1", "::1"}, []string{"10.0.0", "localhost", "10.0.0.1/24"}},
		"prefixes":    {[]string{"10.0.0.0/16", "10.0.0.0/16,fd00::/64"}, []string{"10.0.0.0/16,", "10.0.0.0/16 fd00::/64"}},
		"prefix":      {[]string{"10.0.0.0/16", "fd00::/64"}, []string{"10.0.0.0", "10.0.0.0/33", "a/8"}},
		"endpoint":    {[]string{"10.0.0.1:6443", "[fd00::1]:53"}, []string{"10.0.0.1", "a:80", "10.0.0.1:99999", "10.0.0.1:"}},
		"hostname":    {[]string{"m1", "m1.example.org"}, []string{"M1", "a_b", "-a", "a..b", strings.Repeat("a", 64)}},
		"host":        {[]string{"m1", "DB_1.example.org", "10.0.0.1", "::1", "a."}, []string{"a b", "-a", "a#", "http://a", "a:80"}},
		"token":       {[]string{"GET", "Content-Type"}, []string{"a b", "a:", "a\n"}},
		"package":     {[]string{"nginx", "a=1.2-3~deb12", "a=1.*", "a|b", "/tmp/a.deb", "*", "libc6:amd64"}, []string{"-y", "a b", "a=", "a=1 2", "|a", "a;b"}},
		"version":     {[]string{"v1.2", "1:2.3-4~deb12"}, []string{"1 2"}},
		"unit":        {[]string{"ssh", "ssh.service", "a@b.service", "dev-disk-by\\x2dlabel.swap"}, []string{"a b", "a/b", "ä"}},
		"directive":   {[]string{"MemoryMax", "Valid-Until", "gpgcheck"}, []string{"a=b", "[x]", "a b", "1"}},
		"module":      {[]string{"br_netfilter", "snd-hda-intel", "8021q"}, []string{"a.ko", "a b", "/a"}},
		"sysctl":      {[]string{"net.ipv4.ip_forward", "net/ipv4/conf/eth0.100/forwarding", "kernel.core_pattern"}, []string{"net", "net..ipv4", "net/../../etc/passwd", "net.ipv4 ", "a.b=1", "#a.b"}},
		"zone":        {[]string{"UTC", "Europe/Berlin", "Etc/GMT+1"}, []string{"Europe/", "../x", "a b", "/UTC"}},
		"time":        {[]string{"2026-11-23T07:00:00Z", "2026-11-23T07:00:00+01:00"}, []string{"2026-11-23", "now"}},
		"calendar":    {[]string{"daily"}, []string{"dayly"}}, // see TestCalendar
		"minute":      {[]string{"*", "*/5", "0,30-45/5"}, []string{"61", "*/0", "x", "1,", "1 2"}},
		"hour":        {[]string{"4", "8-18"}, []string{"24", "5-1", "*-5"}},
		"monthday":    {[]string{"31"}, []string{"0", "32"}},
		"month":       {[]string{"jan-Mar", "12"}, []string{"13", "mon"}},
		"weekday":     {[]string{"7", "MON,fri"}, []string{"8", "jan"}},
		"node":        {[]string{"n1", "n1.example.org"}, []string{"N1", "a_b", strings.Repeat("a", 254)}},
		"label-key":   {[]string{"zone", "example.org/zone"}, []string{"a b", "/a", "a/b/c", strings.Repeat("a", 64)}},
		"label":       {[]string{"a", "A.b_c-1"}, []string{"a b", "-a", strings.Repeat("a", 64)}},
		"object":      {[]string{"kube-system/coredns"}, []string{"coredns", "a/b/c", "A/b"}},
		"image":       {[]string{"app", "registry.example.org:5000/a/b:1.2", "deployer.local/probe:v1@sha256:" + strings.Repeat("a1", 32), "[::1]:5000/a"}, []string{"a b", "App", "a:", "a@sha256:1", "https://a/b"}},
	}
	for _, name := range Names() {
		tt, ok := tests[name]
		if !ok {
			t.Errorf("the rule %s has no test", name)
			continue
		}
		for _, text := range tt.good {
			if err := Check(name, text); err != nil {
				t.Errorf("%s refuses %q: %v", name, text, err)
			}
		}
		for _, text := range tt.bad {
			if Check(name, text) == nil {
				t.Errorf("%s permits %q", name, text)
			}
		}
	}
	if Check("in:a,b", "b") != nil || Check("in:a,b", "") != nil || Check("in:a,b", "c") == nil {
		t.Error("a closed set does not permit its words only")
	}
	if Check("nosuch", "x") == nil {
		t.Error("a rule that does not exist permits everything")
	}
}
