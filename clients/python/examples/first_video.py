from framewright import Framewright

with Framewright() as client:
    video = client.generate("A lighthouse at dawn, waves below", duration=5, resolution="720p")
    video.download("lighthouse.mp4")
    print(video.url)
