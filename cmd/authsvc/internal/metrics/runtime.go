package metrics

import (
	"os"
	"runtime"
	"runtime/debug"
	"runtime/pprof"
	"strconv"
	"strings"
	"time"
)

// Runtime writes the metrics of the Go runtime.
func Runtime(t *Text) {
	var m runtime.MemStats
	runtime.ReadMemStats(&m)
	gc := debug.GCStats{PauseQuantiles: make([]time.Duration, 5)}
	debug.ReadGCStats(&gc)
	const pauses = "go_gc_duration_seconds"
	t.head(pauses, Summary, "How long garbage collections stopped the program.")
	for i, q := range []string{"0", "0.25", "0.5", "0.75", "1"} {
		t.sample(pauses, []string{"quantile"}, Sample{[]string{q}, gc.PauseQuantiles[i].Seconds()})
	}
	t.sample(pauses+"_sum", nil, Sample{Value: gc.PauseTotal.Seconds()})
	t.sample(pauses+"_count", nil, Sample{Value: float64(gc.NumGC)})
	t.One("go_goroutines", Gauge, "Current number of goroutines.", float64(runtime.NumGoroutine()))
	t.Family("go_info", Gauge, "The version of Go.", []string{"version"}, Sample{[]string{runtime.Version()}, 1})
	t.One("go_sched_gomaxprocs_threads", Gauge, "Maximum number of threads that run Go code at the same time.", float64(runtime.GOMAXPROCS(0)))
	t.One("go_threads", Gauge, "Operating system threads created.", float64(pprof.Lookup("threadcreate").Count()))
	for _, one := range []struct {
		name, kind, help string
		value            float64
	}{
		{"alloc_bytes", Gauge, "Bytes of the heap in use.", float64(m.Alloc)},
		{"alloc_bytes_total", Counter, "Bytes allocated since the start.", float64(m.TotalAlloc)},
		{"frees_total", Counter, "Objects freed since the start.", float64(m.Frees)},
		{"gc_sys_bytes", Gauge, "Bytes used by the garbage collector itself.", float64(m.GCSys)},
		{"heap_alloc_bytes", Gauge, "Bytes of the heap in use.", float64(m.HeapAlloc)},
		{"heap_idle_bytes", Gauge, "Unused bytes of the heap.", float64(m.HeapIdle)},
		{"heap_inuse_bytes", Gauge, "Bytes of the parts of the heap that contain objects.", float64(m.HeapInuse)},
		{"heap_objects", Gauge, "Objects on the heap.", float64(m.HeapObjects)},
		{"heap_released_bytes", Gauge, "Bytes of the heap returned to the operating system.", float64(m.HeapReleased)},
		{"heap_sys_bytes", Gauge, "Bytes of the heap obtained from the operating system.", float64(m.HeapSys)},
		{"last_gc_time_seconds", Gauge, "Time of the last garbage collection, in seconds since 1970.", float64(m.LastGC) / 1e9},
		{"mallocs_total", Counter, "Objects allocated since the start.", float64(m.Mallocs)},
		{"next_gc_bytes", Gauge, "Size of the heap at which the next collection begins.", float64(m.NextGC)},
		{"other_sys_bytes", Gauge, "Bytes of the other parts of the runtime.", float64(m.OtherSys)},
		{"stack_inuse_bytes", Gauge, "Bytes of stacks in use.", float64(m.StackInuse)},
		{"stack_sys_bytes", Gauge, "Bytes of stacks obtained from the operating system.", float64(m.StackSys)},
		{"sys_bytes", Gauge, "Bytes obtained from the operating system.", float64(m.Sys)},
	} {
		t.One("go_memstats_"+one.name, one.kind, one.help, one.value)
	}
}

// ticksPerSecond is the number of ticks per second in which Linux reports processor
// time to programs.
const ticksPerSecond = 100

// Process writes the metrics of the process on Linux. Elsewhere it writes nothing.
func Process(t *Text) {
	stat, err := os.ReadFile("/proc/self/stat")
	if err != nil {
		return
	}
	field := afterName(string(stat))
	if len(field) < 22 {
		return
	}
	number := func(i int) float64 { n, _ := strconv.ParseFloat(field[i], 64); return n }
	t.One("process_cpu_seconds_total", Counter, "User and system processor time in seconds.", (number(11)+number(12))/ticksPerSecond)
	t.One("process_resident_memory_bytes", Gauge, "Resident memory in bytes.", number(21)*float64(os.Getpagesize()))
	t.One("process_virtual_memory_bytes", Gauge, "Virtual memory in bytes.", number(20))
	if boot, ok := bootTime(); ok {
		t.One("process_start_time_seconds", Gauge, "Start time of the process, in seconds since 1970.", boot+number(19)/ticksPerSecond)
	}
	if files, err := os.ReadDir("/proc/self/fd"); err == nil {
		t.One("process_open_fds", Gauge, "Open files and connections.", float64(len(files)))
	}
	if limits, err := os.ReadFile("/proc/self/limits"); err == nil {
		_, rest, _ := strings.Cut(string(limits), "Max open files")
		if most := strings.Fields(rest); len(most) > 0 {
			if n, err := strconv.ParseFloat(most[0], 64); err == nil {
				t.One("process_max_fds", Gauge, "Maximum number of open files and connections.", n)
			}
		}
	}
}

// afterName returns the fields of a stat file after the name of the program. The name
// may contain any character, even parentheses.
func afterName(stat string) []string {
	return strings.Fields(stat[strings.LastIndexByte(stat, ')')+1:])
}

// bootTime returns when the machine started, in seconds since 1970.
func bootTime() (float64, bool) {
	stat, err := os.ReadFile("/proc/stat")
	if err != nil {
		return 0, false
	}
	_, rest, _ := strings.Cut(string(stat), "\nbtime ")
	line, _, _ := strings.Cut(rest, "\n")
	n, err := strconv.ParseFloat(line, 64)
	return n, err == nil
}
