package limit

import (
	"testing"
)

func TestLimit(t *testing.T) {
	tests := []struct {
		text  string
		total int
		want  int
	}{{"0", 10, 0}, {"2", 10, 2}, {"10%", 5, 0}, {"10%", 10, 1}, {"10%", 19, 1}, {"100%", 7, 7}, {"33.4%", 3, 1}, {"0%", 100, 0}}
	for _, tt := range tests {
		l, err := Parse(tt.text)
		if err != nil {
			t.Fatal(err)
		}
		if got := l.Of(tt.total); got != tt.want {
			t.Errorf("%s of %d is %d, want %d", tt.text, tt.total, got, tt.want)
		}
		if l.String() != tt.text {
			t.Errorf("String() = %q, want %q", l, tt.text)
		}
	}
	for _, bad := range []string{"", "-1", "101%", "x%", "NaN%", "1.5", "many"} {
		if _, err := Parse(bad); err == nil {
			t.Errorf("%q was taken", bad)
		}
	}
}
