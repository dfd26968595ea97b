package seal

import (
	"fmt"
	"io"
)

// opaque, embedded, keeps what surrounds it out of logs: every verb of package
// fmt prints the same word, and so does log/slog, which formats with fmt.
type opaque struct{}

// Format implements [fmt.Formatter].
func (opaque) Format(f fmt.State, _ rune) {
	io.WriteString(f, "[secret]")
}
