package cluster

import "testing"

// TestCalendar: the verdicts are those of systemd-analyze calendar (systemd 252).
func TestCalendar(t *testing.T) {
	for _, good := range []string{
		"daily", "Weekly", "quarterly", "bi-annually", "hourly UTC", "Mon", "Monday,", "mon..fri", "Mon-Fri 10:00", "Sat,Sun 20:15", "Mon *-*-* 00:00:00",
		"12:30", "*:0/15", "*:*:*", "10-15", "08:05:40..50", "*-*-* *:*:30.5", "1,3:00", "2003-03-05", "2003-03-05 05:40", "03-05 08:05", "12-1-1 1:00",
		"*-*-* 00/6:00:00", "*-*-1..7 3:00", "*-1/3-1", "*-*~3", "*-05~07/1", "*-02~01", "2003-02..04-05", "Thu,Fri 2012-*-1,5 11:12:13",
		"Mon..Fri 22:30 Europe/Berlin", "4:00 Etc/UTC", "4:00 CET", "*-*-7 0:0:0 UTC", "@12345",
	} {
		if err := checkCalendar(good); err != nil {
			t.Errorf("%q: %v", good, err)
		}
	}
	for _, bad := range []string{
		"", "*", "every day", "5 4 * * *", "@daily", "1d", "12", "Mon 12", "00/2", "25:00", "24:00", "12:60", "12:00:60", "Mon foo", "daily daily", "Mon,,Tue", "Fri..Mon 1:00",
		"*-13-01", "*-*-32", "*-*-0", "2200-1-1", "0/0:00", "5..3:00", "*..3:00", "*/2:00", "1:2:3:4",
	} {
		if checkCalendar(bad) == nil {
			t.Errorf("%q is accepted", bad)
		}
	}
}
