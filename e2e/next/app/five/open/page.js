import Who from "../who"

export default function Open() {
  return <Who />
}
