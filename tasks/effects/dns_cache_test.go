package effects

import (
	"strings"
	"testing"
)

// TestCacheUsers: pods that keep a DNS cache on their host are a problem with their names; without any
// there is no row.
func TestCacheUsers(t *testing.T) {
	t.Parallel()
	if rows := Rows(Checks{DNSCache: "169.254.20.10"}, Observation{}); len(rows) != 0 {
		t.Errorf("without users: %+v", rows)
	}
	rows := Rows(Checks{DNSCache: "169.254.20.10"}, Observation{CacheUsers: []string{"default/web-1", "kube-system/a"}})
	if len(rows) != 1 || rows[0].OK || rows[0].Check != CheckDNSCache || !strings.Contains(rows[0].Detail, "default/web-1") {
		t.Errorf("with users: %+v", rows)
	}
}
