package argrule

import "testing"

// TestCalendar: the answers are those of systemd-analyze calendar of systemd 252, except for
// RFC 3339, which newer versions know.
func TestCalendar(t *testing.T) {
	for _, text := range []string{"daily", "DAILY", "daily UTC", "weekly Europe/Berlin", "biannually", "Mon..Fri 03:00", "Mon,Tue", "Mon, 10:00", "Monday", "Mon-Fri",
		"mon-fri 10:00", "Mon,Fri 2012-*-* 2:00", "*-*-1..7 18:00:00", "*:0/15", "0/2:00", "*-*-* *:00/5:00", "2003-03-05", "03-05", "12:30:15.5", "*-*~3", "*-02~1",
		"*-*~01..07", "@1395716396", "8..18:00", "12:30:15/2", "12:30:15.5..20", "*-*-*", "1-1-1", "20-01-01", "70-01-01", "00:00:00", "10:*", "10:*:*", "10:1,2,3..5/2",
		"10:00 UTC", "Mon *-05~07/1", "2020-01-01T10:00"} {
		if err := Check("calendar", text); err != nil {
			t.Errorf("%q: %v", text, err)
		}
	}
	for _, text := range []string{"foo", "*:*/15", "*/2:00", "05", "10", "25:00", "24:00", "12:60", "0:0:60", "*-13-01", "*-*-32", "*-*-00 1:00", "2200-01-01", "120-1-1",
		"Mon..Foo", "Mon.. 10:00", "Sat,Sun..Mon 1:2", "18..8:00", "*:0/70", "*:1/0", "* *:*", "Fri *", "10:00  UTC", " 10:00", "*-*-*~1", "1:2:3:4", "10:00 2020-01-01",
		"mon *-1~2/2 *:*:*", "-1:00", "+1:00"} {
		if Check("calendar", text) == nil {
			t.Errorf("%q is a time of systemd.time(7)", text)
		}
	}
}
