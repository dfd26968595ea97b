package metrics

import (
	"regexp"
	"strings"
	"testing"
)

func TestText(t *testing.T) {
	t.Parallel()
	var text Text
	text.Family("a_total", Counter, "What it\nis \\.", []string{"host", "why"}, Sample{[]string{"b", "x"}, 2}, Sample{[]string{"a\"\\\n", "x"}, 1e9})
	text.Family("nothing", Gauge, "None.", nil)
	text.One("b", Gauge, "B.", 0.5)
	want := "# HELP a_total What it\\nis \\\\.\n# TYPE a_total counter\n" + `a_total{host="a\"\\\n",why="x"} 1e+09` + "\n" + `a_total{host="b",why="x"} 2` + "\n# HELP b B.\n# TYPE b gauge\nb 0.5\n"
	if got := string(text.Bytes()); got != want {
		t.Errorf("%s\nwant\n%s", got, want)
	}
}

// TestRuntime: every line has the format, and the usual names are present.
func TestRuntime(t *testing.T) {
	t.Parallel()
	var text Text
	Runtime(&text)
	Process(&text)
	line := regexp.MustCompile(`^(# (HELP [a-z_]+ \S.*|TYPE [a-z_]+ (counter|gauge|summary))|[a-z_]+(\{[a-z]+="[^"]*"\})? \d\S*)$`)
	all := string(text.Bytes())
	for one := range strings.SplitSeq(strings.TrimSuffix(all, "\n"), "\n") {
		if !line.MatchString(one) {
			t.Errorf("%q", one)
		}
	}
	for _, name := range []string{"go_goroutines", "go_gc_duration_seconds_count", "go_memstats_heap_alloc_bytes", "process_cpu_seconds_total", "process_start_time_seconds", "process_resident_memory_bytes", "process_open_fds", "process_max_fds"} {
		if !strings.Contains(all, "\n"+name+" ") && !strings.HasPrefix(all, name+" ") {
			t.Errorf("no %s", name)
		}
	}
}

// TestAfterName: the name of a program may look like the fields after it.
func TestAfterName(t *testing.T) {
	t.Parallel()
	for _, name := range []string{"authsvc", "a) R 9", ")", "(", ") ("} {
		if got := afterName("17 (" + name + ") S 1 17\n"); len(got) != 3 || got[0] != "S" || got[2] != "17" {
			t.Errorf("%q: %q", name, got)
		}
	}
	if got := afterName(""); len(got) != 0 {
		t.Errorf("of nothing: %q", got)
	}
}
